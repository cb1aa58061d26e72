/** An expected outcome, but an error to the caller: 423 with the time that the lock or the delay lasts at most. */
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
