// What callers ask about items that were released with a delay, and what they are answered.

export type Delay = {
  /** How long the items wait until they are back: 0, the default, to 86,400. Others wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The others do not wait: pops of an exclusive queue pass by these items until then. */
  readonly overtake?: boolean | undefined
}

/** Of a queue. */
export type Waiting = {
  /** Items that were released with a delay which is not over. */
  readonly waitingCount: number
  /** Until when such items hold back the others from pops that do not compete, if they do. */
  readonly blockedUntilMs?: number
}

/** Of an item. */
export type ItemState = {
  /** `expired`: still stored, but no pop returns it. */
  readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
  /** Of one that waits: when it is back. */
  readonly retryAtMs?: number
}
