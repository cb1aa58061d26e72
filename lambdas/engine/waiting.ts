// Requests and answers about items that were released with a delay.

export type Delay = {
  /** How long the items wait before they come back: 0 (the default) to 86,400. Other items wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The other items do not wait: until then, pops of an exclusive queue pass these items. */
  readonly overtake?: boolean | undefined
}

/** Of a queue. */
export type Waiting = {
  /** Items that were released with a delay that is not yet over. */
  readonly waitingCount: number
  /** Until when such items hold back the others from pops without `competing`, if they do. */
  readonly blockedUntilMs?: number
}

/** Of an item. */
export type ItemState = {
  /** `expired`: still stored, but no pop returns it. */
  readonly state: 'ready' | 'locked' | 'waiting' | 'expired'
  /** For a waiting item: when it comes back. */
  readonly retryAtMs?: number
}
