// When to go on, when to stop, how long to wait. Pure: time and randomness are arguments.

/**
 * The time that a run keeps for its end. An event, an acknowledgement and a log line take some 50 ms, or
 * a second and more if DynamoDB answers late.
 */
export const END_MS = 2_000

/** The next batch may take longer than any before it. */
const MARGIN = 1.5

/** A run always begins its first batch: one that did nothing would only call the next run. */
export function mayTakeMore(remainingMs: number, longestMs: number): boolean {
  return remainingMs - END_MS > longestMs * MARGIN
}

/** We pay for each millisecond of this wait; for a longer one an event calls the next run. */
const WAIT_MS_MAX = 5_000

/** Whether the run itself waits for failed items to come back: an event may be a few seconds late. */
export const sitsOut = (delayMs: number, remainingMs: number): boolean =>
  delayMs <= WAIT_MS_MAX && mayTakeMore(remainingMs, delayMs)

/**
 * The pause until the queue's limit allows another pop. If that is after the end of this run, the next run goes
 * on waiting.
 */
export const limitPauseMs = (retryAfterMs: number, remainingMs: number): number =>
  Math.max(0, Math.min(retryAfterMs, remainingMs - END_MS))

const TROUBLE_FIRST_MS = 100
const TROUBLE_MS_MAX = 3_000
/** These pauses sit out some six seconds of trouble. After that the run fails, and Lambda repeats it. */
export const TROUBLES_MAX = 5

/** After a request that failed. */
export function troublePauseMs(failures: number, random: () => number): number {
  const bound = Math.min(TROUBLE_MS_MAX, TROUBLE_FIRST_MS * 2 ** failures)
  return bound * (0.5 + random() / 2)
}
