// The messages of a queue in the order in which they came, and which of them are in flight or delayed. Before a call
// that depends on the time, the queue calls `settle` with it. The shelf reports its changes, so that they can be kept.

import type { RecordChange } from './change.ts'
import type { Delivery, Message } from './message.ts'

/** Ids, times and the places where it stands. */
const MESSAGE_OVERHEAD_BYTES = 1_000

export class Shelf {
  readonly #queue: string
  readonly #tell: RecordChange
  readonly #messages = new Map<string, Message>()
  readonly #groups = new Map<string, Map<string, Message>>()
  readonly #inFlight = new Map<string, Message>()
  readonly #delayed = new Map<string, Message>()
  /** No flight and no delay ends before this. */
  #nextMs = Number.POSITIVE_INFINITY
  /** No message is older than this. */
  #oldestMs = Number.POSITIVE_INFINITY
  #bytes = 0

  constructor(queue: string, tell: RecordChange) {
    this.#queue = queue
    this.#tell = tell
  }

  get size(): number {
    return this.#messages.size
  }

  /** In the memory of the process. */
  get bytes(): number {
    return this.#bytes + this.#messages.size * MESSAGE_OVERHEAD_BYTES
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  get delayed(): number {
    return this.#delayed.size
  }

  all(): Iterable<Message> {
    return this.#messages.values()
  }

  get groups(): number {
    return this.#groups.size
  }

  group(id: string): Iterable<Message> {
    return this.#groups.get(id)?.values() ?? []
  }

  find(id: string): Message | undefined {
    return this.#messages.get(id)
  }

  isInFlight({ id }: Message): boolean {
    return this.#inFlight.has(id)
  }

  isDelayed({ id }: Message): boolean {
    return this.#delayed.has(id)
  }

  /** Adds a message at the end. */
  add(message: Message, nowMs: number): void {
    this.restore(message, nowMs)
    this.#tell({ kind: 'sent', queue: this.#queue, message })
  }

  /** Restores a stored message; call it in the stored order. */
  restore(message: Message, nowMs: number): void {
    const { id, groupId, delayedUntilMs } = message
    this.#messages.set(id, message)
    this.#bytes += message.bytes
    this.#oldestMs = Math.min(this.#oldestMs, message.sentAtMs)
    if (groupId !== undefined) {
      const group = this.#groups.get(groupId) ?? new Map<string, Message>()
      this.#groups.set(groupId, group.set(id, message))
    }
    if (delayedUntilMs > nowMs) this.#setDelayed(message)
    if (message.delivery.invisibleUntilMs > nowMs) this.#setInFlight(message)
  }

  remove(message: Message): void {
    const { id, groupId } = message
    if (!this.#messages.delete(id)) return
    this.#tell({ kind: 'gone', id })
    this.#bytes -= message.bytes
    this.#inFlight.delete(id)
    this.#delayed.delete(id)
    if (groupId === undefined) return
    const group = this.#groups.get(groupId)
    group?.delete(id)
    if (group?.size === 0) this.#groups.delete(groupId)
  }

  setDelivery(message: Message, delivery: Delivery, nowMs: number): void {
    message.delivery = delivery
    this.#tell({ kind: 'delivered', id: message.id, delivery })
    if (delivery.invisibleUntilMs > nowMs) this.#setInFlight(message)
    else this.#inFlight.delete(message.id)
  }

  /** From now on, a FIFO queue holds back its messages for this long, including those that it already has. */
  delayAll(delayMs: number, nowMs: number): void {
    for (const message of this.#messages.values()) {
      const { deadLetterSource, delivery } = message
      if (deadLetterSource !== undefined || delivery.receives > 0) continue
      message.delayedUntilMs = message.sentAtMs + delayMs
      if (message.delayedUntilMs > nowMs) this.#setDelayed(message)
      else this.#delayed.delete(message.id)
    }
  }

  /** Takes note of what time has done. */
  settle(nowMs: number): void {
    if (nowMs < this.#nextMs) return
    for (const message of this.#inFlight.values()) {
      if (message.delivery.invisibleUntilMs <= nowMs) this.#inFlight.delete(message.id)
    }
    for (const { id, delayedUntilMs } of this.#delayed.values()) {
      if (delayedUntilMs <= nowMs) this.#delayed.delete(id)
    }
    this.#nextMs = this.#soonestMs()
  }

  /** The messages sent at or before that time. */
  sentUntil(ms: number): readonly Message[] {
    if (this.#oldestMs > ms) return []
    const messages = [...this.#messages.values()]
    this.#oldestMs = messages.reduce(
      (oldest, { sentAtMs }) => (sentAtMs > ms ? Math.min(oldest, sentAtMs) : oldest),
      Number.POSITIVE_INFINITY,
    )
    return messages.filter(({ sentAtMs }) => sentAtMs <= ms)
  }

  /** Before this no message comes back from a flight or a delay. */
  get nextMs(): number {
    return this.#nextMs
  }

  #soonestMs(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { delivery } of this.#inFlight.values()) {
      next = Math.min(next, delivery.invisibleUntilMs)
    }
    for (const { delayedUntilMs } of this.#delayed.values()) next = Math.min(next, delayedUntilMs)
    return next
  }

  #setDelayed(message: Message): void {
    this.#delayed.set(message.id, message)
    this.#nextMs = Math.min(this.#nextMs, message.delayedUntilMs)
  }

  #setInFlight(message: Message): void {
    this.#nextMs = Math.min(this.#nextMs, message.delivery.invisibleUntilMs)
    this.#inFlight.set(message.id, message)
  }
}
