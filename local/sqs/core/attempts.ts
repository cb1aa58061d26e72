// ReceiveRequestAttemptId: a client that lost the answer of a receive from a FIFO queue asks again by the same id, and
// gets the same messages, instead of waiting until they are visible again.

import type { Message, Received } from './message.ts'
import type { Shelf } from './shelf.ts'

/** SQS's own. */
const REMEMBERED_MS = 300_000

type Attempt = {
  readonly untilMs: number
  readonly received: readonly Received[]
}

export class Attempts {
  readonly #byId = new Map<string, Attempt>()

  remember(id: string, received: readonly Received[], nowMs: number): void {
    for (const [old, { untilMs }] of this.#byId) {
      if (untilMs > nowMs) break
      this.#byId.delete(old)
    }
    this.#byId.delete(id)
    this.#byId.set(id, { untilMs: nowMs + REMEMBERED_MS, received })
  }

  /** The messages that the attempt received, if nothing has happened to them since. */
  find(id: string, shelf: Shelf, nowMs: number): readonly Message[] | undefined {
    const attempt = this.#byId.get(id)
    if (!attempt || attempt.untilMs <= nowMs) return undefined
    const isUntouched = attempt.received.every(
      ({ message, delivery }) =>
        message.delivery.handle === delivery.handle && shelf.isInFlight(message),
    )
    return isUntouched ? attempt.received.map(({ message }) => message) : undefined
  }
}
