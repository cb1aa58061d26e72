/** An expected outcome for us, but an error for the caller: 423, with the latest time at which the lock or delay ends. */
export class QueueLocked extends Error {
  readonly expiresAtMs: number

  constructor(expiresAtMs: number, forRetry = false) {
    super(
      forRetry
        ? 'Queue waits for items that were released with a delay'
        : 'Queue is locked pending acknowledgement',
    )
    this.name = 'QueueLocked'
    this.expiresAtMs = expiresAtMs
  }
}
