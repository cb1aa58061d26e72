import { itemId } from '../../../../lambdas/engine/core/keys.ts'
import {
  countOf,
  none,
  numbersOf,
  type Ranges,
  subtract,
} from '../../../../lambdas/engine/core/ranges.ts'
import { isRetry } from '../../../../lambdas/engine/core/retry.ts'
import { locksNamedBy, type Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { isOwnClaim, mayBeOver, passedOver, takeBack } from './expiry.ts'
import { type LaneChange, type LaneLog, showRanges } from './lane-view.ts'
import type { Fate, ItemRecord } from './ledger.ts'
import type { Model } from './model.ts'
import type { Write } from './snapshot.ts'

/** Only a pop, an acknowledge, a purge or a move takes items away for good. */
export function checkSettling(write: Write, change: LaneChange, log: LaneLog): void {
  const { model, queue, before } = write
  const { operation } = model
  const where = `lane ${change.priority} of ${queue}`
  if (change.unsettled.length > 0) {
    const what = `${showRanges(change.unsettled)} of ${where} were settled and are back`
    model.violated('what was acknowledged is never delivered again', what)
  }
  const { expired } = before.record.configuration
  const mayDie = expired === 'dead_letter' && !queue.endsWith('-deadletter')
  const died = mayDie ? mayBeOver(write, change.priority, change.deadUnlocked) : none
  notePassed(model, died, 'died')
  const deadUnlocked = subtract(change.deadUnlocked, died)
  if (change.undead.length > 0 || deadUnlocked.length > 0) {
    const which = showRanges([...change.undead, ...deadUnlocked])
    model.violated('items die in a lock, or of their age, and stay dead', `${which} of ${where}`)
  }
  const over = passedOver(write, change)
  if (over.length > 0) {
    if (mayDie)
      model.violated('what expires goes where that is set', `${showRanges(over)} of ${where}`)
    settle(model, log, over, 'expired')
    notePassed(model, over, 'discarded')
  }
  const settledFree = subtract(change.settledFree, over)
  if (settledFree.length > 0) settleFree(write, change.priority, settledFree, log)
  if (change.settledDead.length > 0) {
    if (isPurgeOf(operation, queue, change.priority)) purge(model, log, change.settledDead)
    else settle(model, log, change.settledDead, undefined)
  }
  for (const [lockId, all] of change.settledLocked) {
    const numbers = acknowledges(operation, queue, lockId) ? all : subtract(all, over)
    if (operation !== undefined && isOwnClaim(operation, lockId)) {
      takeBack(operation, change.priority, over)
    }
    if (numbers.length === 0) continue
    if (isPurgeOf(operation, queue, change.priority)) {
      purge(model, log, numbers)
      checkNamed(model, log, numbers)
      continue
    }
    if (isRetry(lockId) && namedBy(operation) !== undefined) {
      settleFree(write, change.priority, numbers, log)
      model.noteEffect('items were taken from a retry')
      continue
    }
    const expiresAtMs = before.record.locks.get(lockId)?.expiresAtMs ?? 0
    const takes = takesExpired(operation, queue, lockId)
    if (takes !== undefined && expiresAtMs <= takes.clockMaxMs) {
      settle(model, log, numbers, takes.command.verb === 'pop' ? 'popped' : undefined)
      continue
    }
    if (!acknowledges(operation, queue, lockId)) {
      model.violated('only an acknowledge settles a lock', `${lockId} of ${where}`)
    } else if (operation !== undefined && expiresAtMs <= operation.clockMinMs) {
      model.violated('an expired lock settles nothing', `${lockId} of ${where}`)
    }
    settle(model, log, numbers, 'acknowledged')
    model.noteEffect(`lock ${lockId} was settled`)
    addTo(operation?.effects.settledByLock, lockId, countOf(numbers))
    if (operation !== undefined) operation.effects.settledAtCommit = model.commits
  }
}

function notePassed({ operation, world }: Model, numbers: Ranges, how: string): void {
  if (operation === undefined || numbers.length === 0) return
  const count = countOf(numbers)
  operation.effects.passedOver += count
  world.statistics.count(`path expired, ${how} by ${operation.command.verb}`, count)
}

/** What becomes of items that a call takes from no lock, by its verb. */
const takings: Readonly<Partial<Record<Verb, { fate?: Fate; effect?: string }>>> = {
  cancel: { fate: 'cancelled', effect: 'items were cancelled' },
  move: { effect: 'items were moved' },
  redrive: {},
}

function settleFree(write: Write, priority: number, numbers: Ranges, log: LaneLog): void {
  const { model, queue } = write
  const { operation } = model
  const { command } = operation ?? {}
  const taking = command?.queue === queue ? takings[command.verb] : undefined
  if (isPurgeOf(operation, queue, priority)) {
    purge(model, log, numbers)
    checkNamed(model, log, numbers)
  } else if (taking !== undefined) {
    settle(model, log, numbers, taking.fate)
    checkNamed(model, log, numbers)
    if (taking.effect !== undefined) model.noteEffect(taking.effect)
  } else if (command?.verb === 'pop' && command.queue === queue && !command.request.requireAck) {
    settle(model, log, numbers, 'popped')
  } else {
    const which = `${showRanges(numbers)} of lane ${priority} of ${queue}`
    const rule = 'every push is delivered, dead-lettered, purged or stored'
    model.violated(rule, `${which} left without being taken`)
  }
}

/** A call that names items takes these and no others. */
function checkNamed(model: Model, log: LaneLog, numbers: Ranges): void {
  const { operation } = model
  const ids = namedBy(operation)
  if (operation === undefined || ids === undefined) return
  for (const sequence of numbersOf(numbers)) {
    const id = itemId({ ...log, sequence })
    if (!ids.includes(id)) model.violated('only the items that are named are taken', id)
    operation.effects.takenOut.add(id)
  }
}

function namedBy(operation: Operation | undefined): readonly string[] | undefined {
  const command = operation?.command
  switch (command?.verb) {
    case 'cancel':
      return command.request
    case 'move':
    case 'purge':
    case 'redrive':
      return command.request.ids
    default:
      return undefined
  }
}

function purge(model: Model, log: LaneLog, numbers: Ranges): void {
  settle(model, log, numbers, 'purged')
  model.noteEffect('items were purged')
  if (model.operation !== undefined) model.operation.effects.purged += countOf(numbers)
}

/** Without a fate they moved: the same request must have stored them elsewhere. */
function settle(model: Model, log: LaneLog, numbers: Ranges, fate: Fate | undefined): void {
  for (const n of numbersOf(numbers)) {
    const record = log.places[n]?.record
    if (record === undefined) continue
    record.live -= 1
    if (fate === undefined) model.moved.add(record)
    else endItem(model, record, fate)
    model.touched.add(record)
  }
}

export function endItem({ ledger, commits }: Model, record: ItemRecord, fate: Fate): void {
  const occurrences = ledger.schedules.get(record.text)
  if (occurrences !== undefined) {
    occurrences.left += 1
    return
  }
  record.fate = fate
  record.settledAtCommit = commits
}

function isPurgeOf(operation: Operation | undefined, queue: string, priority: number): boolean {
  const command = operation?.command
  if (command?.verb !== 'purge' || command.queue !== queue) return false
  return command.request.priority === undefined || command.request.priority === priority
}

/** One write may end an expired lock and take what it held. */
function takesExpired(
  operation: Operation | undefined,
  queue: string,
  lockId: string,
): Operation | undefined {
  const command = operation?.command
  if (command === undefined || command.queue !== queue) return undefined
  if (command.verb === 'redrive') return operation
  if (command.verb !== 'pop' || command.request.requireAck) return undefined
  return command.request.acknowledge === lockId ? undefined : operation
}

function acknowledges(operation: Operation | undefined, queue: string, lockId: string): boolean {
  const command = operation?.command
  if (command?.queue !== queue || !/^(acknowledge|acknowledgeMany|pop)$/.test(command.verb))
    return false
  return locksNamedBy(command).includes(lockId)
}

export function addTo(map: Map<string, number> | undefined, key: string, count: number): void {
  map?.set(key, (map.get(key) ?? 0) + count)
}
