// What a queue holds and remembers: its messages in the order in which they came, which of them are in flight or
// delayed, which a receive looks at first, and, for FIFO queues, what was sent and received in the last five minutes.
// Before a call that depends on the time, the queue calls `settle` with it. Each change is reported, so that it can be
// kept.

import type { Delivery, Message, Random, Received } from './message.ts'
import type { QueueAttributes } from './queue-attributes.ts'

/** A queue's own data, without its messages. */
export type QueueRecord = {
  readonly name: string
  readonly attributes: QueueAttributes
  readonly createdAtMs: number
  readonly modifiedAtMs: number
  /** The last sequence number that it gave. */
  readonly sequence: string
}

/** A change that must be on disk before we answer the request. */
export type Change =
  | { readonly kind: 'queue'; readonly record: QueueRecord }
  | { readonly kind: 'queue gone'; readonly queue: string }
  | { readonly kind: 'sent'; readonly queue: string; readonly message: Message }
  | { readonly kind: 'delivered'; readonly id: string; readonly delivery: Delivery }
  | { readonly kind: 'gone'; readonly id: string }
  | { readonly kind: 'remembered'; readonly queue: string; readonly duplicate: Duplicate }
  | { readonly kind: 'forgotten'; readonly queue: string; readonly untilMs: number }

export type RecordChange = (change: Change) => void

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

/**
 * SQS looks through this many messages for groups that are free. A backlog of one group that is larger hides the
 * groups behind it.
 */
export const LOOKED_AT_MAX = 120_000

/** All messages of one group, then the next group; of each group only what lies before its first message in flight. */
export function* fifoOrder(shelf: Shelf): Generator<Message> {
  const seen = new Set<string>()
  // As many as there were: who takes these messages may remove them, and with the last one its group.
  const { groups } = shelf
  let looked = 0
  for (const { groupId = '' } of shelf.all()) {
    looked += 1
    if (looked > LOOKED_AT_MAX || seen.size === groups) return
    if (seen.has(groupId)) continue
    seen.add(groupId)
    for (const message of shelf.group(groupId)) {
      if (shelf.isDelayed(message) || shelf.isInFlight(message)) break
      yield message
    }
  }
}

/** A standard queue promises no order, so code that needs one should fail here. */
export function* anyOrder(shelf: Shelf, random: Random, window = WINDOW): Generator<Message> {
  const near: Message[] = []
  for (const message of shelf.all()) {
    if (shelf.isInFlight(message) || shelf.isDelayed(message)) continue
    near.push(message)
    if (near.length < window) continue
    yield pick(near, random)
  }
  while (near.length > 0) yield pick(near, random)
}

/** About as far as neighbours get apart on AWS's servers. */
const WINDOW = 20

function pick(near: Message[], random: Random): Message {
  const at = Math.floor(random() * near.length)
  const [picked] = near.splice(at, 1)
  return picked as Message
}

/** SQS's own; nobody can set it. */
const REMEMBERED_MS = 300_000

export type Duplicate = {
  readonly key: string
  readonly id: string
  readonly sequence: string
  readonly untilMs: number
}

/**
 * The messages that a FIFO queue has accepted in the last five minutes. It remembers a message even if somebody has
 * received and deleted it meanwhile.
 */
export class Duplicates {
  /** The oldest first. */
  readonly #byKey = new Map<string, Duplicate>()

  find(key: string, nowMs: number): Duplicate | undefined {
    const found = this.#byKey.get(key)
    return found && found.untilMs > nowMs ? found : undefined
  }

  remember(key: string, id: string, sequence: string, nowMs: number): Duplicate {
    const duplicate = { key, id, sequence, untilMs: nowMs + REMEMBERED_MS }
    this.restore(duplicate)
    return duplicate
  }

  restore(duplicate: Duplicate): void {
    // Delete it first, so that the new entry comes at the end.
    this.#byKey.delete(duplicate.key)
    this.#byKey.set(duplicate.key, duplicate)
  }

  /** Whether there was something to forget. */
  forget(nowMs: number): boolean {
    let forgot = false
    for (const { key, untilMs } of this.#byKey.values()) {
      if (untilMs > nowMs) break
      this.#byKey.delete(key)
      forgot = true
    }
    return forgot
  }
}

type Attempt = {
  readonly untilMs: number
  readonly received: readonly Received[]
}

/**
 * ReceiveRequestAttemptId: a client that lost the answer of a receive from a FIFO queue asks again by the same id, and
 * gets the same messages, instead of waiting until they are visible again.
 */
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
