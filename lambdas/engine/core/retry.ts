import { OVERTAKEN_LOCK, RETRY_LOCK } from '../../foundation/random-text.ts'
import { normalised, type Ranges, subtract } from './ranges.ts'
import { isLive, type Lock, type QueueRecord, type Stretch, stretchesIn } from './record.ts'
import { giveBack, spentOf } from './settling.ts'

/*
 * Items that were released with a delay wait in a *retry lock*: a lock that nobody holds and whose id nobody
 * knows. When its time is over it ends as any other lock does, so they keep their places and their counts. It
 * is its id that says what it is: an engine that does not know of retries keeps that, whatever it does to the
 * lock, and takes it for one of somebody who never settles.
 */

/** Where items go that are released with a delay: the id of their lock, and when it ends. */
export type Again = { readonly lockId: string; readonly dueMs: number }

/** As long as a lock is alive that is of this kind, nobody has its items, and they are not to be had either. */
export const isRetry = (lockId: string): boolean =>
  lockId.startsWith(RETRY_LOCK) || isOvertaken(lockId)

export const hasRetry = ({ locks }: QueueRecord): boolean => [...locks.keys()].some(isRetry)

/** Pops of an exclusive queue pass by it. */
export const isOvertaken = (lockId: string): boolean => lockId.startsWith(OVERTAKEN_LOCK)

/**
 * Puts items of a lock that has ended into a retry lock. Those that have been delivered as often as they may do
 * not wait: in an exclusive queue others would wait with them, for nothing.
 */
export function comeBackLater(
  record: QueueRecord,
  stretches: readonly Stretch[],
  { lockId, dueMs }: Again,
): QueueRecord {
  const spent = spentOf(record, stretches)
  const waiting = stretches.flatMap(({ priority, from, to }) =>
    subtract([{ from, to }], stretchesIn(spent, priority)).map((range) => ({ priority, ...range })),
  )
  const returned = spent.length > 0 ? giveBack(record, spent) : record
  if (waiting.length === 0) return returned
  const lock: Lock = { expiresAtMs: dueMs, stretches: waiting }
  return { ...returned, locks: new Map(returned.locks).set(lockId, lock) }
}

/** Whether this write put items of the lock into a retry lock: then nothing is free yet because it ended. */
export function goesToRetry(lock: Lock, before: QueueRecord, after: QueueRecord): boolean {
  return [...after.locks].some(
    ([id, { stretches }]) =>
      isRetry(id) && !before.locks.has(id) && stretches.some((it) => holds(lock, it)),
  )
}

const holds = ({ stretches }: Lock, { priority, from, to }: Stretch): boolean =>
  stretches.some((held) => held.priority === priority && held.from < to && from < held.to)

/** Items of a lane that wait for their retry, by when it comes. */
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

/** How long pops of an exclusive queue wait for a retry, if they do. */
export function blockedUntilMs(record: QueueRecord, nowMs: number): number | undefined {
  const ends = [...record.locks]
    .filter(([id, lock]) => isRetry(id) && !isOvertaken(id) && isLive(lock, nowMs))
    .map(([, { expiresAtMs }]) => expiresAtMs)
  return ends.length === 0 ? undefined : Math.max(...ends)
}
