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

/** From `deliveries` 1 on: 1 s, 2 s, 4 s … up to what a lock may live. */
const RETRY_FIRST_MS = 1_000
export const RETRY_MS_MAX = 300_000

/** Up to a quarter less, so that items that failed together do not come back together. */
export function retryDelayMs(deliveries: number, random: () => number): number {
  const bound = Math.min(RETRY_MS_MAX, RETRY_FIRST_MS * 2 ** (deliveries - 1))
  return Math.round(bound * (0.75 + random() / 4))
}

/** We pay for each millisecond of this wait; for a longer one the lock waits instead. */
const WAIT_MS_MAX = 5_000

/**
 * A failed item must not come back at once, and nobody else may get it meanwhile: once released, it would
 * wake another run, which would take it at once. So we keep the lock for that time. We sit out a short
 * wait. For a longer one we set the lock to end by itself, which costs nothing; its end is the event that
 * wakes a run.
 */
export function howToWait(delayMs: number, remainingMs: number): 'here' | 'by the lock' {
  return delayMs <= WAIT_MS_MAX && mayTakeMore(remainingMs, delayMs) ? 'here' : 'by the lock'
}

/**
 * Until the queue's limit allows another pop. If that is after the end of this run, the next run goes on
 * waiting.
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
