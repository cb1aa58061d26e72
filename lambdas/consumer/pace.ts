// When to go on, when to stop, how long to wait. Pure: time and randomness are arguments.

/**
 * What a run keeps of its time for its end: an event, an acknowledgement and a line in the log are
 * some 50 ms; a DynamoDB that answers late takes a second or more.
 */
export const END_MS = 2_000

/** The next batch may take longer than any before it. */
const MARGIN = 1.5

/** The first is always begun: a run that does nothing would only call the next one. */
export function mayTakeMore(remainingMs: number, longestMs: number): boolean {
  return remainingMs - END_MS > longestMs * MARGIN
}

/** From `deliveries` 1 on: 1 s, 2 s, 4 s … up to what a lock may live. */
const RETRY_FIRST_MS = 1_000
export const RETRY_MS_MAX = 300_000

/** Up to a quarter less: what failed together must not come back together. */
export function retryDelayMs(deliveries: number, random: () => number): number {
  const bound = Math.min(RETRY_MS_MAX, RETRY_FIRST_MS * 2 ** (deliveries - 1))
  return Math.round(bound * (0.75 + random() / 4))
}

/** A wait that is paid for by the millisecond; a longer one is left to the lock. */
const WAIT_MS_MAX = 5_000

/**
 * What failed must not come back at once, and while it waits nobody else may get it: released, it
 * would wake another run, which had it at once. So the lock is kept for that time. A short wait
 * is sat out; for a longer one the lock is set to end by itself then, at no cost, and whoever ends it
 * makes the event that wakes a run.
 */
export function howToWait(delayMs: number, remainingMs: number): 'here' | 'by the lock' {
  return delayMs <= WAIT_MS_MAX && mayTakeMore(remainingMs, delayMs) ? 'here' : 'by the lock'
}

/**
 * Until the queue's limit lets somebody pop again; or, where that is later, until this run's time is
 * over: the next one then waits on.
 */
export const limitPauseMs = (retryAfterMs: number, remainingMs: number): number =>
  Math.max(0, Math.min(retryAfterMs, remainingMs - END_MS))

const TROUBLE_FIRST_MS = 100
const TROUBLE_MS_MAX = 3_000
/** With these pauses some six seconds of trouble are sat out; Lambda's own repetition takes longer ones. */
export const TROUBLES_MAX = 5

/** After a request that failed. */
export function troublePauseMs(failures: number, random: () => number): number {
  const bound = Math.min(TROUBLE_MS_MAX, TROUBLE_FIRST_MS * 2 ** failures)
  return bound * (0.5 + random() / 2)
}
