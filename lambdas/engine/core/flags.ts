import { EXPIRED_DEAD_MAX, IN_FLIGHT_MAX } from './limits.ts'
import { subtract } from './ranges.ts'
import {
  deadIn,
  endOf,
  freeIn,
  isDone,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesOf,
  unsettledPart,
} from './record.ts'
import { goesToRetry, isRetry } from './retry.ts'
import { roomIn, settle } from './settling.ts'

/*
 * The stack makes events from the table's stream, whose filter cannot compare a record with its
 * earlier state. So two flags in the record say which writes to look at:
 *   dry      nothing is free to pop. The pop that takes the last item sets it, every append removes it.
 *   notable  this write made the queue with items in it, ended locks otherwise than by acknowledging,
 *            made items dead, let pops go on that were refused because too much was dead or in flight, or announces
 *            the queue again.
 */

export function hasFree(record: QueueRecord): boolean {
  for (const lane of record.lanes.values()) {
    if (lane.head < endOf(lane) && freeIn(record, lane).length > 0) return true
  }
  return false
}

/** Whether items have become free: only the end of a lock, or of a part of it, can do that. */
export function bringsSomethingBack(before: QueueRecord, after: QueueRecord): boolean {
  const touched = new Set<number>()
  for (const [lockId, lock] of before.locks) {
    if (isDone(lock) || after.locks.get(lockId) === lock) continue
    for (const { priority } of lock.stretches) touched.add(priority)
  }
  for (const priority of touched) {
    const [was, is] = [before.lanes.get(priority), after.lanes.get(priority)]
    if (was === undefined || is === undefined) continue
    const back = subtract(freeIn(after, is), freeIn(before, was))
    if (back.length > 0) return true
  }
  return false
}

export function isNotable(before: QueueRecord, after: QueueRecord, bringsBack: boolean): boolean {
  if (bringsBack || deadIn(after) > deadIn(before)) return true
  if (letsExpireAgain(before, after) || mayLetLockAgain(before, after)) return true
  return [...before.locks].some(
    ([id, lock]) => !isDone(lock) && endsUnacknowledged(id, lock, after),
  )
}

/** Too many items were dead for pops to pass over more expired ones, so we refused them. Now they can again. */
export const letsExpireAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  after.configuration.expired === 'dead_letter' &&
  deadIn(before) >= EXPIRED_DEAD_MAX &&
  deadIn(after) < EXPIRED_DEAD_MAX

/**
 * Nothing could be locked any more, so consumers were refused and went home. Now something can, and not because a
 * holder has settled items of its lock: the holder is at work and pops again.
 */
export const letsLockAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  roomIn(before) === 0 && roomIn(after) > 0 && roomIn(asSettledByHolders(before, after)) === 0

/**
 * Claims go beside the fence, so at the time of the write more may be in flight than its writer has seen. From half of
 * what may be on, it marks whatever frees some; Announce, which sees both images, says whether that lets others lock.
 */
const mayLetLockAgain = (before: QueueRecord, after: QueueRecord): boolean =>
  roomIn(before) <= IN_FLIGHT_MAX / 2 && roomIn(after) > roomIn(asSettledByHolders(before, after))

/** The record before the write, but without the items of consumers' locks that the write has settled. */
function asSettledByHolders(before: QueueRecord, after: QueueRecord): QueueRecord {
  const locks = new Map(before.locks)
  const settled: Stretch[] = []
  for (const [lockId, lock] of before.locks) {
    if (isRetry(lockId)) continue
    const stretches: Stretch[] = []
    for (const { priority, ...range } of lock.stretches) {
      const left = unsettledPart(after, priority, [range])
      stretches.push(...stretchesOf(priority, left))
      settled.push(...stretchesOf(priority, subtract([range], left)))
    }
    locks.set(lockId, { ...lock, stretches })
  }
  return settle({ ...before, locks }, settled)
}

/**
 * A lock that was live or expired is gone. Nobody acknowledged it, and no retry lock took its place that makes the
 * other items go on waiting.
 */
export const endsUnacknowledged = (
  lockId: string,
  lock: Lock,
  after: QueueRecord,
  isWorkedOn = false,
): boolean =>
  !after.locks.has(lockId) &&
  after.ended.findLast((ended) => ended.lockId === lockId)?.ending !== 'acknowledged' &&
  !goesToRetry(lock, after, isWorkedOn)
