import { RETRY_LOCKS_APART, RETRY_STRETCHES_MAX } from './limits.ts'
import { normalised, type Ranges, subtract } from './ranges.ts'
import {
  isDone,
  isLive,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
} from './record.ts'
import { giveBack, OVERTAKEN_LOCK, RETRY_LOCK, spentOf } from './settling.ts'

/*
 * Items that were released with a delay wait in a *retry lock*: a lock without a holder, whose id no caller knows.
 * When its time is over it ends as any other lock does, so the items keep their places and their counts. Its id
 * marks it: an engine that does not know retries keeps the id, whatever it does to the lock, and treats it as a
 * lock that nobody ever settles.
 */

/** Where items go when a consumer releases them with a delay: the id of their lock, and when it ends. */
export type Again = {
  readonly lockId: string
  readonly dueMs: number
  /** The latest time at which it may end, when many items wait and share locks. */
  readonly latestMs: number
}

/** For a release with this delay from now on. A shared lock may end later by up to a sixteenth of the delay. */
export const againAfter = (lockId: string, delayMs: number, nowMs: number): Again => ({
  lockId,
  dueMs: nowMs + delayMs,
  latestMs: nowMs + Math.ceil((delayMs * 17) / 16),
})

/** While a retry lock is live, no consumer has its items, and no pop returns them. */
export const isRetry = (lockId: string): boolean =>
  lockId.startsWith(RETRY_LOCK) || isOvertaken(lockId)

export const hasRetry = ({ locks }: QueueRecord): boolean => [...locks.keys()].some(isRetry)

/** Whether pops of an exclusive queue pass this lock. */
export const isOvertaken = (lockId: string): boolean => lockId.startsWith(OVERTAKEN_LOCK)

/**
 * Puts items of a lock that has ended into a retry lock. Items that have had their last delivery do not wait: in an
 * exclusive queue, the other items would wait with them in vain.
 */
export function comeBackLater(
  record: QueueRecord,
  stretches: readonly Stretch[],
  again: Again,
): QueueRecord {
  const spent = spentOf(record, stretches)
  const waiting = stretches.flatMap(({ priority, from, to }) =>
    subtract([{ from, to }], stretchesIn(spent, priority)).map((range) => ({ priority, ...range })),
  )
  const returned = spent.length > 0 ? giveBack(record, spent) : record
  if (waiting.length === 0) return returned
  return { ...returned, locks: new Map(returned.locks).set(...lockFor(returned, waiting, again)) }
}

/**
 * A separate lock that ends when the items are due. If a record had many of those, each write would pay for them until
 * the last has ended. So with many of them, items join a lock that ends soon after, and neighbouring single items
 * become one range.
 */
function lockFor(
  record: QueueRecord,
  waiting: readonly Stretch[],
  { lockId, dueMs, latestMs }: Again,
): [string, Lock] {
  const retries = [...record.locks].filter(([id]) => isRetry(id))
  if (retries.length < RETRY_LOCKS_APART) {
    return [lockId, { expiresAtMs: dueMs, stretches: waiting }]
  }
  for (const [id, lock] of retries) {
    if (isOvertaken(id) !== isOvertaken(lockId)) continue
    if (lock.expiresAtMs < dueMs || lock.expiresAtMs > latestMs) continue
    const stretches = joined([...lock.stretches, ...waiting])
    if (stretches.length <= RETRY_STRETCHES_MAX) return [id, { ...lock, stretches }]
  }
  return [lockId, { expiresAtMs: latestMs, stretches: waiting }]
}

const joined = (stretches: readonly Stretch[]): Stretch[] =>
  [...new Set(stretches.map(({ priority }) => priority))].flatMap((priority) =>
    stretchesOf(priority, stretchesIn(stretches, priority)),
  )

/**
 * Whether the end of a lock changes nothing for the items behind it: a retry lock took its place, and they go on
 * waiting behind that; or they may overtake it, and another consumer is at work. The lock's own holder may be gone.
 */
export function goesToRetry(lock: Lock, { locks }: QueueRecord, isWorkedOn: boolean): boolean {
  return [...locks].some(
    ([id, { stretches }]) =>
      isRetry(id) &&
      (isWorkedOn || !isOvertaken(id)) &&
      stretches.some((stretch) => holds(lock, stretch)),
  )
}

/** Whether a consumer has a lock. It may acknowledge outside the fence, so only a write's images tell for certain. */
export const isWorkedOn = ({ locks }: QueueRecord): boolean =>
  [...locks].some(([id, lock]) => !isRetry(id) && !isDone(lock))

const holds = ({ stretches }: Lock, { priority, from, to }: Stretch): boolean =>
  stretches.some((held) => held.priority === priority && held.from < to && from < held.to)

/** Items of a lane that retry locks hold. */
export const inRetry = ({ locks }: QueueRecord, priority: number): Ranges =>
  normalised(
    [...locks].flatMap(([id, { stretches }]) =>
      isRetry(id) ? stretchesIn(stretches, priority) : [],
    ),
  )

/** Items of a lane that wait for their retry, grouped by its time. */
export function retriesIn(
  record: QueueRecord,
  priority: number,
  nowMs: number,
): { readonly retryAtMs: number; readonly ranges: Ranges }[] {
  return [...record.locks]
    .filter(([id, lock]) => isRetry(id) && isLive(lock, nowMs))
    .map(([, { expiresAtMs, stretches }]) => ({
      retryAtMs: expiresAtMs,
      ranges: normalised(stretches.filter((stretch) => stretch.priority === priority)),
    }))
}

/** Until when a retry holds back the pops of an exclusive queue, if one does. */
export function blockedUntilMs(record: QueueRecord, nowMs: number): number | undefined {
  const ends = [...record.locks]
    .filter(([id, lock]) => isRetry(id) && !isOvertaken(id) && isLive(lock, nowMs))
    .map(([, { expiresAtMs }]) => expiresAtMs)
  return ends.length === 0 ? undefined : Math.max(...ends)
}
