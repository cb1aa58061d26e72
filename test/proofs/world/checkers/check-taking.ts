import { itemId } from '../../../../lambdas/engine/core/keys.ts'
import {
  countOf,
  intersect,
  none,
  numbersOf,
  type Ranges,
  subtract,
  take,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import { isDone, stretchesIn, stretchesOf } from '../../../../lambdas/engine/core/record.ts'
import { isOvertaken } from '../../../../lambdas/engine/core/retry.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { checkDueFirst } from './check-due.ts'
import { checkLimit } from './check-limits.ts'
import { mayBeOver, passedOver } from './expiry.ts'
import { type LaneChange, showRanges } from './lane-view.ts'
import type { Model } from './model.ts'
import type { Write } from './snapshot.ts'

/**
 * A pop takes the first visible items, best priority first, and passes over none: by the record
 * as it was at the moment of the write, whatever the pop had seen before.
 */
export function checkTaking(write: Write, changes: readonly LaneChange[]): void {
  const { model, queue, before } = write
  const { operation } = model
  const takes = new Map<number, Ranges>()
  const passed = new Map<number, Ranges>()
  const lockIds = new Set<string | undefined>()
  const direct = operation?.command.verb === 'pop' && !operation.command.request.requireAck
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
    if (direct) {
      for (const [lockId, numbers] of change.settledLocked) {
        if (isAcknowledged(operation, lockId)) continue
        taken = union(taken, subtract(numbers, over))
      }
    }
    if (taken.length > 0) takes.set(change.priority, taken)
  }
  if (takes.size === 0) return
  if (operation?.command.verb !== 'pop' || operation.command.queue !== queue || lockIds.size > 1) {
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
  checkDueFirst(model, model.queue(queue), popping, take)
  checkLimit(model, before, 'popLimit')
  checkOrder(write, lockId, takes, passed)
  checkLocksAtPop(write, popping, lockId, takes)
}

type Pop = Operation<CommandOf<'pop'>>

/** Numbers by lane. */
type InLanes = ReadonlyMap<number, Ranges>

/** What may have expired while the pop ran was taken, or passed over: one of the two must be in order. */
function checkOrder(
  write: Write,
  lockId: string | undefined,
  takes: InLanes,
  passed: InLanes,
): void {
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

const isAcknowledged = (operation: Operation | undefined, lockId: string): boolean =>
  operation?.command.verb === 'pop' && operation.command.request.acknowledge === lockId

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
  const { model, queue, before, after } = write
  const worst = Math.max(...takes.keys())
  for (const [priority] of before.record.lanes) {
    if (priority > worst) continue
    const view = before.view(priority)
    if (view === undefined) continue
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
    const laneAfter = after.view(priority)
    visible = subtract(visible, laneAfter?.dead ?? none)
    visible = subtract(visible, passed.get(priority) ?? none)
    const acknowledged = model.operation?.command
    if (acknowledged?.verb === 'pop' && acknowledged.request.acknowledge !== undefined) {
      visible = subtract(visible, view.locked.get(acknowledged.request.acknowledge) ?? none)
    }
    const taken = takes.get(priority) ?? none
    const first = priority === worst ? take(visible, countOf(taken)) : visible
    if (!sameRanges(taken, first)) {
      return `${queue} lane ${priority}: took ${showRanges(taken)} where ${showRanges(visible)} were visible; worst priority taken ${worst}`
    }
  }
  return undefined
}

function sameRanges(a: Ranges, b: Ranges): boolean {
  if (a.length !== b.length) return false
  return a.every((range, i) => range.from === b[i]?.from && range.to === b[i]?.to)
}

/** Other locks bind a pop; its own lock lives as long as the caller asked. */
function checkLocksAtPop(
  write: Write,
  operation: Pop,
  lockId: string | undefined,
  takes: InLanes,
): void {
  const { model, queue, before, after } = write
  const { request } = operation.command
  const worst = Math.max(...takes.keys())
  for (const [otherId, lock] of before.record.locks) {
    const kept = after.record.locks.get(otherId)
    if (kept === undefined || isDone(kept) || otherId === lockId) continue
    if (!request.competing && !isOvertaken(otherId)) {
      const what = `${queue}: lock ${otherId} until ${lock.expiresAtMs} is still there`
      model.violated('an exclusive pop waits for a live lock', what)
    }
    // Expired by every clock the pop has read: its items were visible, and were passed over. An
    // extension by another clock may have shortened it after the pop had looked.
    if (lock.expiresAtMs > operation.clockMinMs) continue
    const known = model.queue(queue).locks.get(otherId)
    if (known === undefined || known.changedAtCommit > operation.startedAtCommit) continue
    for (const { priority, from } of lock.stretches) {
      const taken = takes.get(priority) ?? none
      const reached = priority < worst || (taken.at(-1)?.to ?? 0) > from
      const view = before.view(priority)
      const unsettled = intersect(view?.locked.get(otherId) ?? none, [{ from, to: from + 1 }])
      if (reached && unsettled.length > 0) {
        model.violated(
          'returned items come first',
          `${queue}: lock ${otherId} had expired at ${lock.expiresAtMs}, clock read ${operation.clockMinMs}`,
        )
      }
    }
  }
  if (lockId === undefined) return
  const lock = after.record.locks.get(lockId)
  const ttlMs = Math.min(300, Math.max(1, request.ttlSeconds ?? 30)) * 1_000
  const { clockMinMs, clockMaxMs } = operation
  const expiresAtMs = lock?.expiresAtMs ?? 0
  if (expiresAtMs < clockMinMs + ttlMs || expiresAtMs > clockMaxMs + ttlMs) {
    model.violated('a lock lives as long as asked', `${lockId} until ${expiresAtMs}`)
  }
}
