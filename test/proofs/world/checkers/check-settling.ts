import { itemId } from '../../../../engine/core/keys.ts'
import { countOf, none, numbersOf, type Ranges, subtract } from '../../../../engine/core/ranges.ts'
import { isRetry } from '../../../../engine/core/settling.ts'
import { type Command, locksNamedBy, type Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { isOwnClaim, mayBeOver, passedOver, takeBack } from './expiry.ts'
import type { Fate, ItemRecord } from './ledger.ts'
import type { Model } from './model.ts'
import { type LaneChange, type LaneLog, showRanges, type Write } from './snapshot.ts'

/** Only a pop, an acknowledge, a purge or a move takes items away for good. */
export function checkSettling(write: Write, change: LaneChange, log: LaneLog): void {
  const { model, queue, operation, command, before } = write
  const { priority } = change
  const say = (rule: string, which: string): void =>
    model.violated(rule, `${which} of lane ${priority} of ${queue}`)
  if (change.unsettled.length > 0) {
    say('what was acknowledged is never delivered again', showRanges(change.unsettled))
  }
  const { expired } = before.record.configuration
  const mayDie = expired === 'dead_letter' && !queue.endsWith('-deadletter')
  const died = mayDie ? mayBeOver(write, priority, change.deadUnlocked) : none
  notePassed(model, died, 'died')
  const wrong = [...change.undead, ...subtract(change.deadUnlocked, died)]
  if (wrong.length > 0)
    say('items die in a lock, or of their age, and stay dead', showRanges(wrong))
  const over = passedOver(write, change)
  if (over.length > 0) {
    if (mayDie) say('what expires goes where that is set', showRanges(over))
    settle(model, log, over, 'expired')
    notePassed(model, over, 'discarded')
  }
  settleFree(write, log, subtract(change.settledFree, over))
  if (isPurge(command, priority)) purge(model, log, change.settledDead)
  else settle(model, log, change.settledDead, undefined)
  for (const [lockId, all] of change.settledLocked) {
    const isNamed = settlesLocks.test(command?.verb ?? '') && locksNamedBy(command).includes(lockId)
    const numbers = isNamed ? all : subtract(all, over)
    if (operation && isOwnClaim(operation, lockId)) takeBack(operation, priority, over)
    if (numbers.length === 0) continue
    if (isPurge(command, priority)) {
      purge(model, log, numbers)
      checkNamed(model, log, numbers)
      continue
    }
    const lock = before.record.locks.get(lockId)
    if (lock !== undefined && isRetry(lock) && namedBy(operation) !== undefined) {
      settleFree(write, log, numbers)
      model.noteEffect('items were taken from a retry')
      continue
    }
    const expiresAtMs = lock?.expiresAtMs ?? 0
    if (takesExpired(command, lockId) && expiresAtMs <= (operation?.clockMaxMs ?? 0)) {
      settle(model, log, numbers, command?.verb === 'pop' ? 'popped' : undefined)
      continue
    }
    if (!isNamed) say('only an acknowledge settles a lock', lockId)
    else if (operation !== undefined && expiresAtMs <= operation.clockMinMs) {
      say('an expired lock settles nothing', lockId)
    }
    settle(model, log, numbers, 'acknowledged')
    model.noteEffect(`lock ${lockId} was settled`)
    addTo(operation?.effects.settledByLock, lockId, countOf(numbers))
    if (operation !== undefined) operation.effects.settledAtCommit = model.commits
  }
}

const settlesLocks = /^(acknowledge|acknowledgeMany|pop)$/

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

function settleFree({ model, queue, command }: Write, log: LaneLog, numbers: Ranges): void {
  if (numbers.length === 0) return
  const taking = command && takings[command.verb]
  if (isPurge(command, log.priority)) {
    purge(model, log, numbers)
    checkNamed(model, log, numbers)
  } else if (taking !== undefined) {
    settle(model, log, numbers, taking.fate)
    checkNamed(model, log, numbers)
    if (taking.effect !== undefined) model.noteEffect(taking.effect)
  } else if (command?.verb === 'pop' && !command.request.requireAck) {
    settle(model, log, numbers, 'popped')
  } else {
    const which = `${showRanges(numbers)} of lane ${log.priority} of ${queue}`
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
  if (command?.verb === 'cancel') return command.request
  const names = command?.verb === 'move' || command?.verb === 'purge' || command?.verb === 'redrive'
  return names ? command.request.ids : undefined
}

function purge(model: Model, log: LaneLog, numbers: Ranges): void {
  if (numbers.length === 0) return
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
  if (occurrences !== undefined) occurrences.left += 1
  else Object.assign(record, { fate, settledAtCommit: commits })
}

const isPurge = (command: Command | undefined, priority: number): boolean =>
  command?.verb === 'purge' && (command.request.priority ?? priority) === priority

/** One write may end an expired lock and take what it held. */
const takesExpired = (command: Command | undefined, lockId: string): boolean =>
  command?.verb === 'redrive' ||
  (command?.verb === 'pop' && !command.request.requireAck && command.request.acknowledge !== lockId)

export function addTo(map: Map<string, number> | undefined, key: string, count: number): void {
  map?.set(key, (map.get(key) ?? 0) + count)
}
