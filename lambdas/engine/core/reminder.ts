import { hasFree } from './flags.ts'
import { isDone, type QueueRecord, type Reminder } from './record.ts'
import { isRetry } from './retry.ts'

/*
 * Events report changes, and a change can go unheard: somebody deployed the consumer or turned on events
 * later, the call was lost, or a stranger's lock was in the way. So when the sweeper comes to a queue with
 * free items and no live lock, it notes how much has been taken so far. If nobody has taken any more by the
 * end of the interval, it announces the queue again.
 */

/** A queue whose consumer is gone for good costs one announcement an hour instead of one every five minutes. */
const INTERVAL_MS_MAX = 60 * 60_000

/** The record as the sweeper leaves it. `afterMs` is the first interval; each later one is twice as long. */
export function remind(record: QueueRecord, nowMs: number, afterMs: number): QueueRecord {
  const reminder = nextReminder(record, nowMs, afterMs)
  return reminder === record.reminder ? record : { ...record, reminder }
}

function nextReminder(record: QueueRecord, nowMs: number, afterMs: number): Reminder | undefined {
  if (!waitsForSomebody(record)) return undefined
  const { reminder } = record
  const taken = takenIn(record.lanes)
  if (reminder === undefined || reminder.taken !== taken) return { times: 0, taken, sinceMs: nowMs }
  if (nowMs < dueMs(reminder, afterMs)) return reminder
  return { times: reminder.times + 1, taken, sinceMs: nowMs }
}

/** Announces the queue at once, no matter when the last announcement was. */
export const announced = (record: QueueRecord, nowMs: number): QueueRecord => ({
  ...record,
  reminder: { times: 1, taken: takenIn(record.lanes), sinceMs: nowMs },
})

/** When the sweeper has to look at the queue again for this. */
export const dueMs = ({ times, sinceMs }: Reminder, afterMs: number): number =>
  sinceMs + Math.min(INTERVAL_MS_MAX, afterMs * 2 ** times)

/** Whether this write announces the queue again. */
export const isReminded = (before: QueueRecord, after: QueueRecord): boolean =>
  (after.reminder?.times ?? 0) > 0 && after.reminder?.sinceMs !== before.reminder?.sinceMs

/**
 * A lock that has not ended shows that a consumer is at work, or that an event will report its end. A retry lock
 * shows neither, though it may hold back the other items: competing consumers pass it, the event for the items that
 * they could take may have been lost, and the lock lives for up to a day. In an exclusive queue we then announce in
 * vain.
 */
export const waitsForSomebody = (record: QueueRecord): boolean =>
  hasFree(record) && !isAtWork(record)

const isAtWork = ({ locks }: QueueRecord): boolean =>
  [...locks].some(([id, lock]) => !isDone(lock) && !isRetry(id))

/** The timer waits for something that has nothing to do with free items, and comes too late for them. */
export const isTooFar = (record: QueueRecord, nowMs: number): boolean =>
  record.checkAtMs !== undefined && record.checkAtMs > nowMs + INTERVAL_MS_MAX && !isAtWork(record)

/** A record with free items needs a timer, because perhaps no other call comes. */
export const lacksTimer = (record: QueueRecord, nowMs: number): boolean =>
  hasFree(record) && (record.checkAtMs === undefined || isTooFar(record, nowMs))

/** Somebody came after all, so the time of the next announcement no longer means anything. */
export const isTakenSince = ({ reminder, lanes }: QueueRecord): boolean =>
  reminder !== undefined && reminder.taken !== takenIn(lanes)

function takenIn(lanes: QueueRecord['lanes']): number {
  let taken = 0
  for (const { frontier } of lanes.values()) taken += frontier
  return taken
}
