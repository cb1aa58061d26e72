import { ENDED_KEPT } from './limits.ts'
import {
  type Ending,
  isDone,
  isExpired,
  isLive,
  itemsIn,
  type Lock,
  type QueueRecord,
} from './record.ts'
import { bury, giveBack, settle } from './settling.ts'

/*
 * The life of a lock
 *   live       made by a pop with acknowledgement; `expiresAtMs` is in the future
 *   done       acknowledged beside the fence: `expiresAtMs` is 0; the next fenced write folds it
 *   expired    its time is over and nobody has written so yet
 *   ended      gone from the record; the last 16 are remembered with how they ended
 * live → done → ended (acknowledged), live → ended (any), live → expired → ended (expired, purged).
 */

/** Ends a lock under the fence; what happens to its items depends on how. */
export function endLock(
  record: QueueRecord,
  lockId: string,
  ending: Ending,
  nowMs: number,
  reason = '',
): QueueRecord {
  const lock = record.locks.get(lockId)
  if (lock === undefined) return record
  const locks = new Map(record.locks)
  locks.delete(lockId)
  const released = { ...record, locks, lastEndedMs: nowMs }
  const ended = [...record.ended, { lockId, ending, items: itemsIn(lock.stretches) }]
  const remembered = { ...released, ended: ended.slice(-ENDED_KEPT) }
  switch (ending) {
    case 'acknowledged':
      return settle(remembered, lock.stretches)
    case 'expired':
    case 'released':
      return giveBack(remembered, lock.stretches)
    case 'dead-lettered':
      return bury(remembered, lock.stretches, reason)
    case 'purged':
      return remembered
    default:
      return ending satisfies never
  }
}

/** Folds up to `limit` acknowledged locks into heads and holes. */
export function foldDone(record: QueueRecord, nowMs: number, limit: number): QueueRecord {
  let next = record
  let left = limit
  for (const [lockId, lock] of record.locks) {
    if (left === 0) break
    if (!isDone(lock)) continue
    next = endLock(next, lockId, 'acknowledged', nowMs)
    left -= 1
  }
  return next
}

export function endExpired(record: QueueRecord, nowMs: number, limit: number): QueueRecord {
  let next = record
  let left = limit
  for (const [lockId, lock] of record.locks) {
    if (left === 0) break
    if (!isExpired(lock, nowMs)) continue
    next = endLock(next, lockId, 'expired', nowMs)
    left -= 1
  }
  return next
}

export const doneLocks = (record: QueueRecord): number => countLocks(record, isDone)

export const expiredLocks = (record: QueueRecord, nowMs: number): number =>
  countLocks(record, (lock) => isExpired(lock, nowMs))

export function liveLocks(record: QueueRecord, nowMs: number): [string, Lock][] {
  return [...record.locks].filter(([, lock]) => isLive(lock, nowMs))
}

/** The earliest time at which a lock that is not done ends by itself. */
export function earliestExpiryMs(record: QueueRecord): number | undefined {
  let earliest: number | undefined
  for (const lock of record.locks.values()) {
    if (isDone(lock)) continue
    if (earliest === undefined || lock.expiresAtMs < earliest) earliest = lock.expiresAtMs
  }
  return earliest
}

function countLocks(record: QueueRecord, is: (lock: Lock) => boolean): number {
  let count = 0
  for (const lock of record.locks.values()) if (is(lock)) count += 1
  return count
}
