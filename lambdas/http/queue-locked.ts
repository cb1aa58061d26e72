/** An expected outcome, and yet an error to whoever asked: 423 with the time it lasts at most. */
export class QueueLocked extends Error {
  readonly expiresAtMs: number

  constructor(expiresAtMs: number) {
    super('Queue is locked pending acknowledgement')
    this.name = 'QueueLocked'
    this.expiresAtMs = expiresAtMs
  }
}
