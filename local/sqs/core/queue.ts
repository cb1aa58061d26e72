// One queue. Time and randomness are arguments; it reports its changes, so that the caller can store them.

import {
  bytesOf,
  changedVisibility,
  checkMessage,
  type Delivery,
  deadLetterOf,
  expiredHandle,
  type Message,
  messageOf,
  type NewMessage,
  newHandle,
  newId,
  nextDelivery,
  type Random,
  type Received,
  undelivered,
} from './message.ts'
import {
  changeAttributes,
  messageFor,
  type QueueAttributes,
  type QueueSettings,
  queueArn,
  settingsOf,
} from './queue-attributes.ts'
import type { QueueRecord, RecordChange } from './shelf.ts'
import { Attempts, anyOrder, type Duplicate, Duplicates, fifoOrder, Shelf } from './shelf.ts'
import { SqsError } from './sqs-error.ts'

/** SQS's own, of both kinds of queues. */
const IN_FLIGHT_MAX = 120_000
const PURGE_EVERY_MS = 60_000

export type ReceiveRequest = {
  readonly max: number
  readonly visibilityMs?: number | undefined
  readonly attemptId?: string | undefined
  readonly isForFunction?: boolean | undefined
}

export type Sent = { readonly id: string; readonly sequence: string }

export class Queue {
  readonly name: string
  readonly arn: string
  readonly #shelf: Shelf
  readonly #duplicates = new Duplicates()
  readonly #attempts = new Attempts()
  readonly #tell: RecordChange
  readonly #inFlightMax: number
  #record: QueueRecord
  #settings: QueueSettings
  #purgedAtMs = Number.NEGATIVE_INFINITY

  constructor(record: QueueRecord, tell: RecordChange, inFlightMax = IN_FLIGHT_MAX) {
    this.#inFlightMax = inFlightMax
    this.name = record.name
    this.arn = queueArn(record.name)
    this.#tell = tell
    this.#shelf = new Shelf(record.name, tell)
    this.#record = record
    this.#settings = settingsOf(record.attributes)
  }

  get settings(): QueueSettings {
    return this.#settings
  }

  get record(): QueueRecord {
    return this.#record
  }

  get bytes(): number {
    return this.#shelf.bytes
  }

  /** The functions that had messages ended with the stack before, so those are free again. */
  restoreMessage(message: Message, nowMs: number): void {
    const { isForFunction, ...delivery } = message.delivery
    if (isForFunction) message.delivery = { ...delivery, invisibleUntilMs: 0 }
    this.#shelf.restore(message, nowMs)
  }

  restoreDuplicate(duplicate: Duplicate): void {
    this.#duplicates.restore(duplicate)
  }

  setAttributes(change: QueueAttributes, nowMs: number): void {
    const attributes = changeAttributes(this.#record.attributes, change)
    this.#settings = settingsOf(attributes)
    this.#record = { ...this.#record, attributes, modifiedAtMs: nowMs }
    this.#tell({ kind: 'queue', record: this.#record })
    this.applyDelay(nowMs)
  }

  /** In a FIFO queue, one delay applies to all messages; in a standard queue, each message keeps its own. */
  applyDelay(nowMs: number): void {
    const { isFifo, delayMs } = this.#settings
    if (isFifo) this.#shelf.delayAll(delayMs, nowMs)
  }

  counts(nowMs: number): { visible: number; inFlight: number; delayed: number } {
    this.#settle(nowMs)
    const { delayed, inFlight, size } = this.#shelf
    return { visible: size - inFlight - delayed, inFlight, delayed }
  }

  send(given: NewMessage, nowMs: number, random: Random): Sent {
    this.#settle(nowMs)
    const { isFifo, delayMs, deduplicationScope, messageBytesMax } = this.#settings
    checkMessage(given, messageBytesMax)
    const { delaySeconds, ...message } = messageFor(this.#settings, given)
    const { groupId, deduplicationId = '' } = message
    const key = deduplicationScope === 'queue' ? deduplicationId : `${groupId} ${deduplicationId}`
    const earlier = isFifo ? this.#duplicates.find(key, nowMs) : undefined
    if (earlier) return earlier

    const sequence = this.#nextSequence(random)
    const id = newId(random)
    const delayedUntilMs = nowMs + (delaySeconds === undefined ? delayMs : delaySeconds * 1000)
    const times = { sentAtMs: nowMs, delayedUntilMs, delivery: undelivered }
    this.#shelf.add({ ...message, id, sequence, bytes: bytesOf(given), ...times }, nowMs)
    if (isFifo) {
      const duplicate = this.#duplicates.remember(key, id, sequence, nowMs)
      this.#tell({ kind: 'remembered', queue: this.name, duplicate })
    }
    return { id, sequence }
  }

  /** Takes a message that another queue gave up. */
  adopt(message: Message, from: string, nowMs: number, random: Random): void {
    this.#settle(nowMs)
    const sequence = this.#nextSequence(random)
    const { isFifo } = this.#settings
    this.#shelf.add({ ...deadLetterOf(message, from, isFifo, nowMs), sequence }, nowMs)
  }

  /** `giveUp` takes a message that was received too often; it is absent where nobody would. */
  receive(
    request: ReceiveRequest,
    nowMs: number,
    random: Random,
    giveUp: ((message: Message) => void) | undefined,
  ): readonly Received[] {
    this.#settle(nowMs)
    const { max, visibilityMs = this.#settings.visibilityMs, attemptId } = request
    const again = attemptId && this.#attempts.find(attemptId, this.#shelf, nowMs)
    if (again) {
      const until = { invisibleUntilMs: nowMs + visibilityMs }
      return again.map((one) => this.#setDelivery(one, { ...one.delivery, ...until }, nowMs))
    }

    const room = Math.min(max, this.#inFlightMax - this.#shelf.inFlight)
    const received: Received[] = []
    const { isFifo, redrive } = this.#settings
    const order = isFifo ? fifoOrder(this.#shelf) : anyOrder(this.#shelf, random)
    if (room <= 0) return []
    for (const message of order) {
      if (redrive && giveUp && message.delivery.receives >= redrive.receivesMax) {
        this.#shelf.remove(message)
        giveUp(message)
        continue
      }
      const handle = newHandle(this.name, message.id, random)
      const delivery = nextDelivery(message, visibilityMs, nowMs, handle, request.isForFunction)
      received.push(this.#setDelivery(message, delivery, nowMs))
      if (received.length === room) break
    }
    if (attemptId && received.length > 0) {
      this.#attempts.remember(attemptId, received, nowMs)
    }
    return received
  }

  /** Nothing more can be received from it before something is deleted. */
  isFull(nowMs: number): boolean {
    this.#settle(nowMs)
    return this.#shelf.inFlight >= this.#inFlightMax
  }

  /** When there may be something to receive, if nobody sends or deletes anything before. */
  nextMs(nowMs: number): number {
    this.#settle(nowMs)
    return this.#shelf.nextMs
  }

  delete(handle: string, nowMs: number): void {
    this.#settle(nowMs)
    const message = this.#shelf.find(messageOf(handle, this.name))
    if (!message) return
    const isLast = message.delivery.handle === handle
    if (this.#settings.isFifo && !(isLast && this.#shelf.isInFlight(message))) {
      throw expiredHandle(handle)
    }
    // A standard queue says yes to an older one, and keeps the message.
    if (isLast) this.#shelf.remove(message)
  }

  changeVisibility(handle: string, visibilityMs: number, nowMs: number): void {
    this.#settle(nowMs)
    const message = this.#shelf.find(messageOf(handle, this.name))
    const isInFlight = message !== undefined && this.#shelf.isInFlight(message)
    const change = { handle, visibilityMs, isFifo: this.#settings.isFifo }
    const delivery = changedVisibility(message, isInFlight, change, nowMs)
    if (message) this.#setDelivery(message, delivery, nowMs)
  }

  purge(nowMs: number): void {
    if (nowMs < this.#purgedAtMs + PURGE_EVERY_MS) {
      throw new SqsError(
        'PurgeQueueInProgress',
        `Only one PurgeQueue operation on ${this.name} is allowed every 60 seconds.`,
      )
    }
    this.#purgedAtMs = nowMs
    for (const message of [...this.#shelf.all()]) this.#shelf.remove(message)
    this.#forgetDuplicates(Number.MAX_SAFE_INTEGER)
  }

  /** It rises by a random step, so that nobody can count on the next one. */
  #nextSequence(random: Random): string {
    const sequence = String(BigInt(this.#record.sequence) + 1n + BigInt(Math.floor(random() * 256)))
    this.#record = { ...this.#record, sequence }
    return sequence
  }

  #setDelivery(message: Message, delivery: Delivery, nowMs: number): Received {
    this.#shelf.setDelivery(message, delivery, nowMs)
    return { message, delivery }
  }

  /** Takes note of what time has done. */
  #settle(nowMs: number): void {
    this.#shelf.settle(nowMs)
    for (const message of this.#shelf.sentUntil(nowMs - this.#settings.retentionMs)) {
      this.#shelf.remove(message)
    }
    this.#forgetDuplicates(nowMs)
  }

  /** Those that are remembered until that time or less. */
  #forgetDuplicates(untilMs: number): void {
    if (!this.#duplicates.forget(untilMs)) return
    this.#tell({ kind: 'forgotten', queue: this.name, untilMs })
  }
}
