/** An expected outcome for us, but an error for the caller: 423, with the latest time at which the lock ends. */
export class QueueLocked extends Error {
  readonly expiresAtMs: number

  constructor(expiresAtMs: number) {
    super('Queue is locked pending acknowledgement')
    this.name = 'QueueLocked'
    this.expiresAtMs = expiresAtMs
  }
}
