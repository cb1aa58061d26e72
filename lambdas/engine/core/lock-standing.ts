import { QueueError } from '../../foundation/errors.ts'
import { isHeld } from './locks.ts'
import { type Ending, isDone, isLive, itemsIn, type Lock, type QueueRecord } from './record.ts'
import { isRetry } from './retry.ts'

type LockStanding =
  | { readonly kind: 'live'; readonly lock: Lock }
  /** Acknowledged, folded or not: repeating it gets the same answer. */
  | { readonly kind: 'acknowledged'; readonly items: number }
  | { readonly kind: 'refused'; readonly error: QueueError }

type LostCode = 'LOCK_EXPIRED' | 'INVALID_LOCK_ID' | 'LOCK_NOT_FOUND'

/** What the record says about a lock id. Acknowledge, extend and release all ask this first. */
export function standingOf(
  record: QueueRecord | undefined,
  lockId: string,
  nowMs: number,
  /** The field in which the caller named it. */
  field: 'lock_id' | 'acknowledge' = 'lock_id',
): LockStanding {
  const refused = (code: LostCode, reason: string): LockStanding => ({
    kind: 'refused',
    error: new QueueError(code, `Cannot settle lock "${lockId}" because ${reason}`, { field }),
  })
  // Even a caller who has read its id in the table cannot settle a retry lock.
  const lock = isRetry(lockId) ? undefined : record?.locks.get(lockId)
  if (lock !== undefined) {
    if (isDone(lock)) return { kind: 'acknowledged', items: itemsIn(lock.stretches) }
    if (isLive(lock, nowMs)) return { kind: 'live', lock }
    return refused('LOCK_EXPIRED', ended.expired)
  }
  // The newest wins: an id is random, but a record outlives many locks.
  const remembered = record?.ended.findLast((past) => past.lockId === lockId)
  if (remembered !== undefined) {
    if (remembered.ending === 'acknowledged') {
      return { kind: 'acknowledged', items: remembered.items }
    }
    return refused('LOCK_EXPIRED', ended[remembered.ending])
  }
  return record !== undefined && isHeld(record, nowMs)
    ? refused('INVALID_LOCK_ID', 'the live lock of this queue is another one')
    : refused('LOCK_NOT_FOUND', 'no lock is live on this queue; it may have ended long ago')
}

const ended: Readonly<Record<Exclude<Ending, 'acknowledged'>, string>> = {
  expired: 'its time is over; its items are back in the queue',
  released: 'it was released; its items are in the queue',
  'dead-lettered': 'its items were moved to the dead-letter queue',
  purged: 'its items were purged',
}

/** A lock that was acknowledged has nothing left to extend or to settle otherwise. */
export const acknowledgedAlready = (verb: 'extend' | 'settle', lockId: string): QueueError =>
  new QueueError(
    'LOCK_EXPIRED',
    `Cannot ${verb} lock "${lockId}" because it was acknowledged already`,
    { field: 'lock_id' },
  )
