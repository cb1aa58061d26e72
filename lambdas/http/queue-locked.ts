/** An expected outcome, but an error to the caller: 423 with the time that the lock lasts at most. */
export class QueueLocked extends Error {
  readonly expiresAtMs: number

  constructor(expiresAtMs: number) {
    super('Queue is locked pending acknowledgement')
    this.name = 'QueueLocked'
    this.expiresAtMs = expiresAtMs
  }
}
