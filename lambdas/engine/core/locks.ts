import { ENDED_KEPT, LOCK_LANES_PER_WRITE, LOCKS_PER_WRITE } from './limits.ts'
import {
  type Ending,
  isDone,
  isExpired,
  isLive,
  itemsIn,
  type Lock,
  type QueueRecord,
} from './record.ts'
import { type Again, comeBackLater, isRetry } from './retry.ts'
import { bury, CONSUMERS_LOCK, giveBack, settle } from './settling.ts'

/*
 * The life of a lock
 *   live       made by a pop with acknowledgement; `expiresAtMs` is in the future
 *   done       acknowledged beside the fence: `expiresAtMs` is 0; the next fenced write folds it
 *   expired    its time is over and nobody has written so yet
 *   ended      gone from the record; the last 16 are remembered with how they ended
 * live → done → ended (acknowledged), live → ended (any), live → expired → ended (expired, purged).
 * A retry lock (`retry.ts`) lives in place of one that was released with a delay, and expires: no call can settle it.
 */

/** Ends a lock under the fence; what happens to its items depends on how. */
export function endLock(
  record: QueueRecord,
  lockId: string,
  ending: Ending,
  nowMs: number,
  reason = '',
  /** For a release with a delay: when the items come back. */
  again?: Again,
): QueueRecord {
  const lock = record.locks.get(lockId)
  if (lock === undefined) return record
  const locks = new Map(record.locks)
  locks.delete(lockId)
  const released = { ...record, locks, lastEndedMs: nowMs }
  const ended = [...record.ended, { lockId, ending, items: itemsIn(lock.stretches) }]
  // No caller asks about a retry lock, so it must not push out one that a caller may ask about.
  const remembered = isRetry(lockId) ? released : { ...released, ended: ended.slice(-ENDED_KEPT) }
  switch (ending) {
    case 'acknowledged':
      return settle(remembered, lock.stretches)
    case 'expired':
      return giveBack(remembered, lock.stretches)
    case 'released':
      if (again !== undefined) return comeBackLater(remembered, lock.stretches, again)
      return giveBack(remembered, lock.stretches)
    case 'dead-lettered':
      return bury(remembered, lock.stretches, reason)
    case 'purged':
      return remembered
    default:
      return ending satisfies never
  }
}

/** Folds acknowledged locks into heads and holes: as many as one write can. */
export function foldDone(record: QueueRecord, nowMs: number): QueueRecord {
  let next = record
  for (const lockId of forOneWrite(record, isDone)) {
    next = endLock(next, lockId, 'acknowledged', nowMs)
  }
  return next
}

/** Ends expired locks: as many as one write can. */
export const endExpired = (record: QueueRecord, nowMs: number): QueueRecord =>
  endThose(record, (lock) => isExpired(lock, nowMs), nowMs)

/** Ends locks as if their time were over: as many as one write can. */
export function endThose(record: QueueRecord, those: Chosen, nowMs: number): QueueRecord {
  let next = record
  for (const lockId of forOneWrite(record, those)) next = endLock(next, lockId, 'expired', nowMs)
  return next
}

type Chosen = (lock: Lock, lockId: string) => boolean

export const hasAny = ({ locks }: QueueRecord, those: Chosen): boolean =>
  [...locks].some(([lockId, lock]) => those(lock, lockId))

/** The lock's time is over; or a consumer's run holds it, and no run is alive. */
export const isOver =
  (nowMs: number, consumersAreGone: boolean) =>
  (lock: Lock, lockId: string): boolean =>
    isExpired(lock, nowMs) ||
    (consumersAreGone && !isDone(lock) && lockId.startsWith(CONSUMERS_LOCK))

/**
 * The locks that one write may end, those that expired earliest first. An expression has room for a limited number
 * of locks and of lanes that they touch, but always for one lock.
 */
export function forOneWrite(record: QueueRecord, is: Chosen): string[] {
  const chosen: string[] = []
  const lanes = new Set<number>()
  // Ordered by expiry and id, not by place: a map comes back from DynamoDB in any order.
  const inOrder = [...record.locks]
    .filter(([lockId, lock]) => is(lock, lockId))
    .sort(([a, one], [b, other]) => one.expiresAtMs - other.expiresAtMs || (a < b ? -1 : 1))
  for (const [lockId, lock] of inOrder) {
    if (chosen.length === LOCKS_PER_WRITE) break
    for (const { priority } of lock.stretches) lanes.add(priority)
    if (chosen.length > 0 && lanes.size > LOCK_LANES_PER_WRITE) break
    chosen.push(lockId)
  }
  return chosen
}

export function doneLocks(record: QueueRecord): number {
  let count = 0
  for (const lock of record.locks.values()) if (isDone(lock)) count += 1
  return count
}

export const expiredLocks = (record: QueueRecord, nowMs: number): Lock[] =>
  [...record.locks.values()].filter((lock) => isExpired(lock, nowMs))

export function liveLocks(record: QueueRecord, nowMs: number): [string, Lock][] {
  return [...record.locks].filter(([, lock]) => isLive(lock, nowMs))
}

/** Whether a consumer has items of this queue: some live lock is not a retry lock. */
export const isHeld = (record: QueueRecord, nowMs: number): boolean =>
  liveLocks(record, nowMs).some(([lockId]) => !isRetry(lockId))

/** The earliest time at which a lock that is not done ends by itself. */
export function earliestExpiryMs(record: QueueRecord): number | undefined {
  let earliest: number | undefined
  for (const lock of record.locks.values()) {
    if (isDone(lock)) continue
    if (earliest === undefined || lock.expiresAtMs < earliest) earliest = lock.expiresAtMs
  }
  return earliest
}
