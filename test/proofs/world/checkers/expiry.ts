import type { Item } from '../../../../engine/core/item.ts'
import {
  none,
  normalised,
  numbersOf,
  type Range,
  type Ranges,
  subtract,
  union,
} from '../../../../engine/core/ranges.ts'
import { isRetry } from '../../../../engine/core/settling.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { World } from '../harness/world.ts'
import type { LaneChange, Write } from './snapshot.ts'

/** When nobody may get an item any more, thought out anew. */
export function expiryMsOf(item: Item, itemTtlSeconds = Number.POSITIVE_INFINITY): number {
  const { pushedAtMs, dueMs = 0, redrivenMs = 0 } = item
  // A dead letter that was put off begins to age when it is due.
  const sinceMs = Math.max(item.deadLetteredAtMs ?? pushedAtMs, dueMs, redrivenMs)
  const own = item.expiresAtMs ?? Number.POSITIVE_INFINITY
  return Math.min(own, sinceMs + 1_000 * itemTtlSeconds)
}

/** Those whose time has come by a clock that shows this, under the settings of the record before the write. */
function overAt(write: Write, priority: number, numbers: Ranges, nowMs: number): Ranges {
  const { model, queue, before } = write
  const { record } = before
  const lane = record.lanes.get(priority)
  const log = lane && model.log(queue, lane.epoch, priority)
  const { itemTtlSeconds } = record.configuration
  const over: Range[] = []
  for (const n of numbersOf(numbers)) {
    const place = log?.places[n]
    if (place === undefined || expiryMsOf(place.item, itemTtlSeconds) > nowMs) continue
    over.push({ from: n, to: n + 1 })
  }
  return over.length === 0 ? none : normalised(over)
}

/** Verbs that take expired items out of a queue: a pop that meets them, and a push, or a move to it, that finds no room. */
const passing = /^(pop|push|pushTransactItem|transact|apply|runSchedule)$/
/** They push what schedules owe, to any queue. */
const sweeping = /^(returnExpiredLocks|wake|deploySchedules)$/

function passes({ queue, operation, command }: Write): boolean {
  const asked = operation?.command
  if (asked?.verb === 'move' && asked.queue !== queue) return asked.request.queue === queue
  return sweeping.test(operation?.command.verb ?? '') || passing.test(command?.verb ?? '')
}

/** Pushes that go together go by the clock readings of one of them, which the others do not know. */
export const latestFor = (world: World, { together }: Operation, itsMs: number): number =>
  together === undefined ? itsMs : world.scheduler.nowMs + world.skewMaxMs

/** Of these, what the operation may have passed over: their time has come by the latest that its clock showed. */
export function mayBeOver(write: Write, priority: number, numbers: Ranges): Ranges {
  const { model, operation } = write
  if (numbers.length === 0 || operation === undefined || !passes(write)) return none
  return overAt(write, priority, numbers, latestFor(model.world, operation, operation.clockMaxMs))
}

/**
 * Of what an operation settled without naming its lock, what it passed over. A pop that settles what it takes may
 * have taken an item that expired while it ran: by its answer we will know.
 */
export function passedOver(write: Write, { priority, ...change }: LaneChange): Ranges {
  const { operation } = write
  if (operation === undefined || !passes(write)) return none
  const { command, clockMinMs } = operation
  const takes = command.verb === 'pop' && command.request.requireAck !== true
  const named = command.verb === 'pop' ? command.request.acknowledge : undefined
  let [settled, waiting] = [change.settledFree, none]
  for (const [lockId, numbers] of change.settledLocked) {
    const lock = write.before.record.locks.get(lockId)
    // No pop takes what waits for its retry: it can only have expired.
    if (lock !== undefined && isRetry(lock)) waiting = union(waiting, numbers)
    else if (lockId !== named) settled = union(settled, numbers)
  }
  if (!takes) return mayBeOver(write, priority, union(settled, waiting))
  return union(overAt(write, priority, settled, clockMinMs), mayBeOver(write, priority, waiting))
}

/** A claim takes blindly: what it finds to be over it takes out of its lock again, before it answers. */
export const isOwnClaim = ({ effects: { takes } }: Operation, lockId: string): boolean =>
  takes.length > 0 && takes[0]?.lockId === lockId

export function takeBack(operation: Operation, priority: number, numbers: Ranges): void {
  const { takes } = operation.effects
  const [take] = takes
  if (take === undefined) return
  const stretches = take.stretches.flatMap((stretch) =>
    stretch.priority === priority
      ? subtract([stretch], numbers).map((rest) => ({ ...stretch, ...rest }))
      : [stretch],
  )
  // Nothing is left: the pop goes on, and may take others.
  takes.splice(0, 1, ...(stretches.length > 0 ? [{ ...take, stretches }] : []))
}
