import { itemId } from '../../../../engine/core/keys.ts'
import {
  countOf,
  includes,
  none,
  numbersOf,
  type Ranges,
  subtract,
  take,
  union,
} from '../../../../engine/core/ranges.ts'
import { isDone, stretchesIn, stretchesOf } from '../../../../engine/core/record.ts'
import { isOvertaken } from '../../../../engine/core/settling.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { checkDueFirst } from './availability.ts'
import { checkLimit } from './check-configuration.ts'
import { mayBeOver, passedOver } from './expiry.ts'
import type { Model } from './model.ts'
import { type LaneChange, showRanges, type Write } from './snapshot.ts'

/**
 * A pop takes the first visible items, best priority first, and passes over none: by the record
 * as it was at the moment of the write, whatever the pop had seen before.
 */
export function checkTaking(write: Write, changes: readonly LaneChange[]): void {
  const { model, queue, operation, command, before } = write
  const takes = new Map<number, Ranges>()
  const passed = new Map<number, Ranges>()
  const lockIds = new Set<string | undefined>()
  const { verb, request } = operation?.command.verb === 'pop' ? operation.command : {}
  const direct = verb === 'pop' && !request?.requireAck
  for (const change of changes) {
    const over = passedOver(write, change)
    if (over.length > 0) passed.set(change.priority, over)
    let taken: Ranges = direct ? subtract(change.settledFree, over) : none
    if (taken.length > 0) lockIds.add(undefined)
    for (const [lockId, numbers] of change.handed) {
      lockIds.add(lockId)
      taken = union(taken, numbers)
    }
    // Items of a lock that this very write ended, taken without acknowledgement.
    for (const [lockId, numbers] of direct ? change.settledLocked : []) {
      if (request?.acknowledge !== lockId) taken = union(taken, subtract(numbers, over))
    }
    if (taken.length > 0) takes.set(change.priority, taken)
  }
  if (takes.size === 0) return
  if (command?.verb !== 'pop' || lockIds.size > 1) {
    model.violated('only a pop takes items', `from ${queue}`)
    return
  }
  const popping = operation as Pop
  const lockId = [...lockIds][0]
  const take = takeOf(write, lockId, takes)
  const taken = take.stretches.reduce((sum, { from, to }) => sum + to - from, 0)
  if (take.maybe.size === taken) {
    popping.effects.maybeTaken = take
    return
  }
  noteTake(write, popping, take, taken)
  checkDueFirst(write, popping, take)
  checkLimit(model, before, 'popLimit')
  checkOrder(write, lockId, takes, passed)
  checkLocksAtPop(write, popping, lockId, takes)
}

type Pop = Operation<CommandOf<'pop'>>

type InLanes = ReadonlyMap<number, Ranges>

/** What may have expired while the pop ran was taken, or passed over: one of the two must be in order. */
function checkOrder(write: Write, lockId: string | undefined, takes: InLanes, passed: InLanes) {
  const disorder = disorderIn(write, takes, passed)
  if (disorder === undefined) return
  const [sure, over] = [new Map(takes), new Map(passed)]
  for (const [priority, numbers] of takes) {
    const perhaps = lockId === undefined ? mayBeOver(write, priority, numbers) : none
    const left = subtract(numbers, perhaps)
    if (left.length > 0) sure.set(priority, left)
    else sure.delete(priority)
    over.set(priority, union(passed.get(priority) ?? none, perhaps))
  }
  if (disorderIn(write, sure, over) === undefined) return
  write.model.violated('a pop takes the first visible items and passes over none', disorder)
}

function takeOf(write: Write, lockId: string | undefined, takes: InLanes): Take {
  const { after } = write
  const maybe = new Set<string>()
  const stretches: Take['stretches'][number][] = []
  for (const [priority, numbers] of [...takes].sort(([a], [b]) => a - b)) {
    const epoch = after.record.lanes.get(priority)?.epoch ?? ''
    for (const stretch of stretchesOf(priority, numbers)) stretches.push({ ...stretch, epoch })
    const perhaps = lockId === undefined ? mayBeOver(write, priority, numbers) : none
    for (const sequence of numbersOf(perhaps)) maybe.add(itemId({ epoch, priority, sequence }))
  }
  return { lockId, stretches, maybe }
}

function noteTake({ model, queue }: Write, operation: Pop, take: Take, taken: number): void {
  noteHandouts(model, queue, take)
  const { count = 1 } = operation.command.request
  const items = taken - take.maybe.size
  if (items > count) model.violated('a pop takes what it asked for', `${items} of ${count}`)
  if (operation.effects.takes.length > 0) {
    model.violated('a pop takes once', `${queue}, again ${JSON.stringify(take.stretches)}`)
  }
  model.noteEffect(`items were taken from ${queue}`)
  operation.effects.takes.push(take)
  model.queue(queue).takenMs = model.world.scheduler.nowMs
}

export function noteHandouts(model: Model, queue: string, { stretches }: Take): void {
  for (const { epoch, priority, ...range } of stretches) {
    const log = model.log(queue, epoch, priority)
    for (const n of numbersOf([range])) {
      const place = log?.places[n]
      if (place !== undefined) place.handouts += 1
    }
  }
}

/** What is wrong, unless it is first in, first out within a lane, with no lane passed over, by the record right before. */
function disorderIn(write: Write, takes: InLanes, passed: InLanes): string | undefined {
  const { operation, queue, before, after } = write
  const { acknowledge = '' } = (operation as Pop).command.request
  const worst = Math.max(...takes.keys())
  for (const priority of before.record.lanes.keys()) {
    const view = before.view(priority)
    if (priority > worst || view === undefined) continue
    // Visible to this write: free, or in a lock that it ended without settling it.
    let visible = view.free
    for (const [lockId, numbers] of view.locked) {
      const kept = after.record.locks.get(lockId)
      if (kept === undefined) visible = union(visible, numbers)
      else if (!isDone(kept)) {
        const left = subtract(numbers, stretchesIn(kept.stretches, priority))
        if (left.length > 0) visible = union(visible, left)
      }
    }
    visible = subtract(visible, after.view(priority)?.dead ?? none)
    visible = subtract(visible, passed.get(priority) ?? none)
    visible = subtract(visible, view.locked.get(acknowledge) ?? none)
    const taken = takes.get(priority) ?? none
    const first = priority === worst ? take(visible, countOf(taken)) : visible
    if (showRanges(taken) !== showRanges(first)) {
      const where = `${showRanges(visible)} were visible; worst priority taken ${worst}`
      return `${queue} lane ${priority}: took ${showRanges(taken)} where ${where}`
    }
  }
  return undefined
}

/** Other locks bind a pop; its own lock lives as long as the caller asked. */
function checkLocksAtPop(
  { model, queue, queueModel, before, after }: Write,
  { command: { request }, clockMinMs, clockMaxMs, startedAtCommit }: Pop,
  lockId: string | undefined,
  takes: InLanes,
): void {
  const worst = Math.max(...takes.keys())
  for (const [otherId, lock] of before.record.locks) {
    const kept = after.record.locks.get(otherId)
    if (kept === undefined || isDone(kept) || otherId === lockId) continue
    if (!request.competing && !isOvertaken(lock)) {
      const what = `${queue}: lock ${otherId} until ${lock.expiresAtMs} is still there`
      model.violated('an exclusive pop waits for a live lock', what)
    }
    // Expired by every clock the pop has read: its items were visible, and were passed over. An
    // extension by another clock may have shortened it after the pop had looked.
    if (lock.expiresAtMs > clockMinMs) continue
    const known = queueModel.locks.get(otherId)
    if (known === undefined || known.changedAtCommit > startedAtCommit) continue
    for (const { priority, from } of lock.stretches) {
      const taken = takes.get(priority) ?? none
      const reached = priority < worst || (taken.at(-1)?.to ?? 0) > from
      const locked = before.view(priority)?.locked.get(otherId) ?? none
      if (reached && includes(locked, from)) {
        const what = `${otherId} had expired at ${lock.expiresAtMs}, clock read ${clockMinMs}`
        model.violated('returned items come first', `${queue}: lock ${what}`)
      }
    }
  }
  if (lockId === undefined) return
  const ttlMs = Math.min(300, Math.max(1, request.ttlSeconds ?? 30)) * 1_000
  const expiresAtMs = after.record.locks.get(lockId)?.expiresAtMs ?? 0
  if (expiresAtMs < clockMinMs + ttlMs || expiresAtMs > clockMaxMs + ttlMs) {
    model.violated('a lock lives as long as asked', `${lockId} until ${expiresAtMs}`)
  }
}
