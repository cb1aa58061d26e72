import { endsUnacknowledged, hasFree, letsExpireAgain, letsLockAgain } from './flags.ts'
import { countOf, intersect, normalised, subtract } from './ranges.ts'
import {
  freeIn,
  isDone,
  itemsIn,
  type Lane,
  type Lock,
  lanesInOrder,
  type QueueRecord,
  type Stretch,
  stretchesIn,
} from './record.ts'
import { isReminded } from './reminder.ts'
import { isRetry, isWorkedOn } from './retry.ts'
import { countIn } from './views.ts'

/** A change to a queue that others may want to know about. */
export type Transition =
  /** There is something to pop now; before there was nothing, or a lock was in the way. */
  | { readonly kind: 'items-available' }
  /** A consumer's time ran out; its items are back, or dead. */
  | {
      readonly kind: 'lock-expired'
      readonly items: number
      /** Items of the lock by priority. */
      readonly priorities: ReadonlyMap<number, number>
    }
  | {
      readonly kind: 'item-dead-lettered'
      readonly priority: number
      readonly reason: string
      readonly items: number
    }
  /** The last item was settled. */
  | { readonly kind: 'queue-drained' }

/**
 * Derived only from the record before and after a write: the same two images give the same answer, in
 * the same order, however often and wherever we look at them. Not even a clock plays a part: the record
 * says when the write ended locks, and that tells whether a lock had expired. That time is finer than
 * the stream's own (whole seconds).
 */
export function transitionsOf(before: QueueRecord | undefined, after: QueueRecord): Transition[] {
  return [
    ...(before === undefined ? [] : expiredLocks(before, after)),
    ...newlyDead(before, after),
    ...(becameAvailable(before, after) ? [{ kind: 'items-available' } as const] : []),
    ...(wasDrained(before, after) ? [{ kind: 'queue-drained' } as const] : []),
  ]
}

function becameAvailable(before: QueueRecord | undefined, after: QueueRecord): boolean {
  if (!hasFree(after)) return false
  if (before === undefined || before.dry || !hasFree(before)) return true
  if (letsExpireAgain(before, after) || letsLockAgain(before, after)) return true
  return freesTheRest(before, after) || isReminded(before, after)
}

/**
 * Something was free all along, but behind a lock, so a pop got the answer "locked". Now the lock has ended, or a
 * part of it has come back. What became of the lock's own items does not matter: they may be dead or purged, and
 * consumers can still take the rest. A lock that ended because its holder acknowledged it needs no event: the holder
 * is at work and pops again.
 */
function freesTheRest(before: QueueRecord, after: QueueRecord): boolean {
  const live = [...before.locks].filter(([, lock]) => !isDone(lock))
  const worked = isWorkedOn(after)
  if (live.some(([lockId, lock]) => endsUnacknowledged(lockId, lock, after, worked))) return true
  const held = live.flatMap(([, { stretches }]) => stretches)
  return [...after.lanes.values()].some((lane) => isFreeAgain(held, lane, before, after))
}

/** We cannot go by `returns`: a redrive raises it only to stop claims. */
function isFreeAgain(
  held: readonly Stretch[],
  lane: Lane,
  before: QueueRecord,
  after: QueueRecord,
): boolean {
  if (before.lanes.get(lane.priority)?.epoch !== lane.epoch) return false
  const wereHeld = stretchesIn(held, lane.priority)
  return wereHeld.length > 0 && intersect(freeIn(after, lane), wereHeld).length > 0
}

/**
 * Locks that are gone because their time was over. The record remembers how the last 16 locks ended; one
 * write may end more, and for those that it has pushed out, their time tells which had expired.
 */
function expiredLocks(before: QueueRecord, after: QueueRecord): Transition[] {
  const endings = new Map(after.ended.map(({ lockId, ending }) => [lockId, ending]))
  const isOver = (lockId: string, lock: Lock): boolean => {
    // When a retry comes due, no consumer ran out of time.
    if (isDone(lock) || isRetry(lockId) || after.locks.has(lockId)) return false
    const ending = endings.get(lockId)
    return ending === undefined ? lock.expiresAtMs <= after.lastEndedMs : ending === 'expired'
  }
  return (
    [...before.locks]
      .filter(([lockId, lock]) => isOver(lockId, lock))
      // A map has no order in DynamoDB, but an event's id contains its place in this list.
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { stretches }]) => {
        const priorities = new Map<number, number>()
        for (const { priority, from, to } of stretches) {
          priorities.set(priority, (priorities.get(priority) ?? 0) + to - from)
        }
        return { kind: 'lock-expired', items: itemsIn(stretches), priorities }
      })
  )
}

/** Items that this write made dead, by priority and reason. */
function newlyDead(before: QueueRecord | undefined, after: QueueRecord): Transition[] {
  return lanesInOrder(after).flatMap(([priority, lane]) => {
    if (lane.dead.length === 0) return []
    const was = before?.lanes.get(priority)
    // A lane that was made anew counts its items from 0 again.
    const known = was?.epoch === lane.epoch ? normalised(was.dead) : []
    const byReason = new Map<string, number>()
    for (const { from, to, reason } of lane.dead) {
      const fresh = countOf(subtract([{ from, to }], known))
      if (fresh > 0) byReason.set(reason, (byReason.get(reason) ?? 0) + fresh)
    }
    return [...byReason]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([reason, items]): Transition => ({ kind: 'item-dead-lettered', priority, reason, items }),
      )
  })
}

function wasDrained(before: QueueRecord | undefined, after: QueueRecord): boolean {
  return before !== undefined && isDrained(after) && !isDrained(before)
}

/**
 * Nothing is stored or scheduled any more, except items on their way to the dead-letter queue. This relies on `dry`,
 * because the writer of the last settlement may not know that it is the last: we look at every write that sets the
 * flag, and at every write while it is set.
 */
const isDrained = (record: QueueRecord): boolean =>
  record.dry && record.scheduled.items === 0 && countIn(record) === 0
