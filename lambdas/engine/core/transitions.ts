import { endsUnacknowledged, hasFree, letsExpireAgain } from './flags.ts'
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

/** What a write did to a queue that others may want to know. */
export type Transition =
  /** There is something to pop where there was nothing, or where a lock was in the way. */
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
 * From what a queue's record was and is, and nothing else: the same two images give the same answer,
 * in the same order, however often and wherever they are looked at. No clock either: whether a lock
 * had expired follows from when the write says that it ended locks, which is finer than the stream's
 * own time (whole seconds).
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
  return freesTheRest(before, after) || letsExpireAgain(before, after) || isReminded(before, after)
}

/**
 * Something was free all along, but behind a lock: a pop that found the queue locked was answered "locked".
 * Now the lock has ended, or a part of it has come back. What became of the lock's own items does not
 * matter: they may be dead or purged, and the rest can still be taken. A lock that ended by being
 * acknowledged is not news, because its holder is at work and pops again.
 */
function freesTheRest(before: QueueRecord, after: QueueRecord): boolean {
  const live = [...before.locks].filter(([, lock]) => !isDone(lock))
  const worked = isWorkedOn(after)
  if (live.some(([lockId, lock]) => endsUnacknowledged(lockId, lock, after, worked))) return true
  const held = live.flatMap(([, { stretches }]) => stretches)
  return [...after.lanes.values()].some((lane) => isFreeAgain(held, lane, before, after))
}

/** Not told by `returns`: a redrive raises it only to stop claims. */
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
 * Locks that are gone because their time was over. How a lock ended is remembered of the last 16; one
 * write may end more, and of those that it pushed out of memory their time tells which had expired.
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
      // A map has no order in DynamoDB, and the place in the list is part of an event's id.
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

/** Items that died by this write, by priority and reason. */
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
 * Nothing is stored, or scheduled, any more but what is on its way to the dead-letter queue. This goes by `dry`,
 * because the writer of the last settlement may not know that it is the last: the flag is looked at whenever it is set,
 * and at every write while it is there.
 */
const isDrained = (record: QueueRecord): boolean =>
  record.dry && record.scheduled.items === 0 && countIn(record) === 0
