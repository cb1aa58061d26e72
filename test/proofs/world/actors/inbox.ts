import type { SQSRecord } from 'aws-lambda'
import type { InboxMessage, PushItem, Queues } from '../../../../lambdas/engine/queues.ts'
import type { QueueError } from '../../../../lambdas/foundation/errors.ts'
import { deadLetterQueueOf } from '../../../../lambdas/foundation/queue-id.ts'
import { applyBatch } from '../../../../lambdas/inbox/apply-batch.ts'
import { inboxOn } from '../../../../lambdas/inbox/send.ts'
import { createLog } from '../../../../lambdas/runtime/log.ts'
import { Tally } from '../../../../lambdas/runtime/tally.ts'
import { requestTimeout, throttling } from '../../../../testing/simulated/faults.ts'
import { checkInbox, type Sent } from '../checkers/check-end.ts'
import type { Joining, Part } from '../harness/actor.ts'
import { Sqs } from '../harness/sqs.ts'
import type { Command } from './callers/command.ts'
import { KEY_SECONDS, keysExpire } from './callers/profile.ts'
import type { Writer } from './callers/writer.ts'

const MINUTE_MS = 60_000
/** Lambda's, for a batch. */
const BATCH_MS = 30_000
const POLL_EVERY_MS = 5_000
/** A message that has to wait comes again after 18 minutes at most, and then waits for its queue's limit. */
const PATIENCE_MS = 20 * 60 * MINUTE_MS
/** SQS keeps a message for 14 days, in which it may come again. */
const COME_AGAIN_AFTER_DAYS = [2, 10]
const DAY_MS = 24 * 60 * MINUTE_MS
const DAY_SECONDS = DAY_MS / 1_000
/** The hour by which clocks differ, and a run of the function. */
const FORGETS_WITHIN_MS = 90 * MINUTE_MS

/** Producers that push by way of SQS, and the function that applies what is there. */
export class Inbox implements Part {
  readonly #joining: Joining
  readonly #sqs: Sqs<Sent>
  readonly #producer: Writer
  readonly #writers: Writer[]
  readonly #busy = new Set<Writer>()
  readonly #received = new Map<string, SQSRecord>()
  readonly #keyed: { readonly queue: string; readonly push: Push; readonly keyLife: number }[] = []
  #messagesLeft: number
  #texts = 0
  #isCalm = false

  constructor(joining: Joining) {
    const { random, newWriter } = joining
    this.#joining = joining
    this.#sqs = new Sqs(
      () => this.#nowMs,
      () => random.next(),
    )
    this.#messagesLeft = random.between(3, 14)
    this.#producer = newWriter('sender')
    this.#writers = [1, 2].map((number) => newWriter(`apply${number}`))
    for (const writer of this.#writers) writer.onCrash = () => this.#busy.delete(writer)
  }

  get #nowMs(): number {
    return Math.floor(this.#joining.world.scheduler.nowMs)
  }

  start(): void {
    this.#later(1_000, () => this.#produce())
    this.#poll()
  }

  stop(): void {
    this.#isCalm = true
    this.#messagesLeft = 0
  }

  async settle(): Promise<void> {
    const { driver, world, random } = this.#joining
    const untilMs = this.#nowMs + PATIENCE_MS
    this.#poll()
    const isDone = () => this.#sqs.isEmpty || this.#nowMs > untilMs
    await driver.until(isDone)
    if (!this.#sqs.isEmpty) world.violated('what the inbox accepted is pushed', 'it is not empty')
    await driver.settle()
    if (!random.chance(0.3)) return
    for (const days of COME_AGAIN_AFTER_DAYS) {
      await driver.advance(days * DAY_MS)
      await driver.call(this.#producer, { verb: 'returnExpiredLocks', queue: '' })
      for (const records of batchesOf([...this.#received.values()])) {
        void this.#apply(this.#writers[0] as Writer, records)
        await driver.settle()
      }
    }
  }

  checkEnd(): void {
    const { model } = this.#joining
    checkInbox(model, [...this.#sqs.accepted.values()], this.#sqs.takeFailures())
  }

  #produce(): void {
    if (this.#messagesLeft <= 0) return
    this.#messagesLeft -= 1
    const { random } = this.#joining
    const { queue, push } = this.#draw()
    void this.#send(queue, push)
    // In bursts, so that batches are full at times and of one message at others.
    this.#later(random.chance(0.7) ? 50 : 5_000, () => this.#produce())
  }

  #draw(): { readonly queue: string; readonly push: Push } {
    const { random, profile, model } = this.#joining
    const { queue: its } = random.pick(profile.queues)
    const queue = random.chance(0.05) ? deadLetterQueueOf(its) : its
    const { keyLife } = model.ledger
    const keyed = this.#keyed.filter((one) => one.keyLife === keyLife)
    const earlier = keyed.length > 0 && random.chance(0.2) && random.pick(keyed)
    if (earlier && random.chance(0.6)) return earlier
    const items = this.#newItems(random.pick([1, 1, 1, 2, 3, 40]))
    if (earlier) {
      const { idempotencyKey } = earlier.push
      return { queue: earlier.queue, push: { items, idempotencyKey } }
    }
    if (!random.chance(0.3)) return { queue, push: { items } }
    const drawn = { queue, push: { items, idempotencyKey: `inbox-${this.#texts}` } }
    this.#keyed.push({ ...drawn, keyLife })
    return drawn
  }

  #newItems(count: number): PushItem[] {
    const { random, profile } = this.#joining
    const expires = random.chance(0.1) && { expiresInSeconds: random.pick([1, 60, 3_600]) }
    const isLater = random.chance(0.15) && { delaySeconds: random.pick([1, 20]) }
    return Array.from({ length: count }, () => ({
      text: this.#newText(),
      priority: random.pick(profile.priorities),
      ...expires,
      ...isLater,
    }))
  }

  #newText(): string {
    this.#texts += 1
    return `"inbox ${this.#texts}"`
  }

  async #send(queue: string, push: Push): Promise<void> {
    const { random, model, world } = this.#joining
    if (random.chance(0.05)) return this.#sendRaw(queue)
    const texts = push.items.map(({ text }) => text)
    model.ledger.announce(undefined, queue, texts, push.idempotencyKey)
    // Now and then the same push goes beside the inbox as well.
    if (push.idempotencyKey !== undefined && random.chance(0.2)) {
      this.#producer.run({ verb: 'push', queue, request: push }, () => {})
      if (random.chance(0.5)) return
    }
    const sent: Sent = { queue, texts }
    const answer = await inboxOn(
      { send: async (message) => this.#request(() => this.#sqs.send(message, sent)) },
      { clock: this.#clock, random: () => random.next() },
    )
      .send(queue, push)
      .then(
        () => 'accepted' as const,
        (error: QueueError) => (error.outcome === 'unknown' ? 'unknown' : 'refused'),
      )
    world.history.add('inbox', () => `${texts.join()} to ${queue}: ${answer}`)
    const accepted = [...this.#sqs.accepted.values()]
    const isThere = accepted.some((one) => one.texts[0] === texts[0])
    if (answer === 'accepted' && !isThere) world.violated('202 is a promise', texts.join())
    if (answer === 'refused' && accepted.includes(sent)) {
      world.violated('a definite error changed nothing', texts.join())
    }
  }

  /** Something in AWS that sends what is no push, or to what is no queue. */
  #sendRaw(queue: string): void {
    const { random, model } = this.#joining
    const text = this.#newText()
    const isQueue = random.chance(0.7)
    const group = isQueue ? queue : 'no!queue'
    if (isQueue) model.ledger.announce(undefined, queue, [text])
    this.#sqs.send({ queue: group, body: text }, { queue: group, texts: [text] })
  }

  /** To SQS: answers get lost as they do elsewhere. */
  async #request<T>(apply: () => T): Promise<T> {
    const { world, random } = this.#joining
    await this.#clock.sleep(5)
    if (random.chance(world.odds.throttled)) throw throttling()
    if (random.chance(world.odds['request-lost'])) throw requestTimeout()
    const answer = apply()
    if (random.chance(world.odds['answer-lost'])) throw requestTimeout()
    return answer
  }

  readonly #clock = {
    nowMs: () => this.#nowMs,
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => this.#joining.after(ms, resolve)),
  }

  /** As Lambda does while there is something, in as many environments as there are. */
  #poll(): void {
    const writer = this.#writers.find((one) => !this.#busy.has(one))
    const records = writer === undefined ? [] : this.#receive()
    if (writer !== undefined && records.length > 0) {
      void this.#apply(writer, records)
      this.#joining.after(20, () => this.#poll())
    } else if (!this.#isOver) this.#joining.after(POLL_EVERY_MS, () => this.#poll())
  }

  /**
   * A copy of a keyed push that waits here until the queue no longer knows the key is pushed once more, as the page on
   * the inbox says. Somebody takes such copies out before.
   */
  #receive(): SQSRecord[] {
    return this.#sqs.receive().filter((record) => {
      if (!this.#isOfForgottenKey(record)) return true
      this.#sqs.delete(record.receiptHandle)
      this.#sqs.accepted.delete(`${numberOf(record)}`)
      this.#received.delete(record.messageId)
      return false
    })
  }

  #isOfForgottenKey({ attributes, messageAttributes }: SQSRecord): boolean {
    const { model, world } = this.#joining
    const its = messageAttributes['idempotency-key']?.stringValue
    if (its === undefined) return false
    const lifeMs = 1_000 * (keysExpire(world.seed) ? KEY_SECONDS : DAY_SECONDS)
    const usedBeforeMs = this.#nowMs - lifeMs + FORGETS_WITHIN_MS
    for (const { key, queue, appendedMs } of model.ledger.pushes()) {
      if (key !== its || queue !== attributes.MessageGroupId) continue
      if (appendedMs < usedBeforeMs) return true
    }
    return false
  }

  get #isOver(): boolean {
    return this.#isCalm && this.#sqs.isEmpty
  }

  async #apply(writer: Writer, records: readonly SQSRecord[]): Promise<void> {
    const { random, world } = this.#joining
    for (const record of records) this.#received.set(record.messageId, record)
    this.#busy.add(writer)
    const endMs = this.#nowMs + BATCH_MS
    const { life } = writer
    this.#joining.after(BATCH_MS, () => {
      if (this.#busy.has(writer) && !life.dead) writer.crash()
    })
    const log = createLog({ level: 'error', service: 'world', write: () => {} })
    const run = { tally: new Tally(), log, remainingMs: () => endMs - this.#nowMs }
    const port = {
      delay: (delayed: readonly { receiptHandle: string; seconds: number }[]) =>
        this.#request(() => {
          for (const one of delayed) this.#sqs.changeVisibility(one.receiptHandle, one.seconds)
        }),
      giveUp: (message: Parameters<Sqs<Sent>['giveUp']>[0]) =>
        this.#request(() => this.#sqs.giveUp(message)),
    }
    const event = { Records: [...records] }
    const { answer } = await applyBatch(applying(writer), port, event, run, () => this.#nowMs)
    if (life.dead) return
    this.#busy.delete(writer)
    // Lambda itself may fail to delete what is done.
    if (random.chance(world.odds['answer-lost'])) return
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier))
    for (const { messageId, receiptHandle } of records) {
      if (!failed.has(messageId)) this.#sqs.delete(receiptHandle)
    }
  }

  #later(withinMs: number, run: () => void): void {
    this.#joining.after(withinMs * this.#joining.random.next(), run)
  }
}

type Push = { readonly items: readonly PushItem[]; readonly idempotencyKey?: string | undefined }

/** The one verb that the function calls, as an operation like any other. */
const applying = (writer: Writer): Pick<Queues, 'apply'> => ({
  apply: (queue, messages: readonly InboxMessage[], request) => {
    const pushes = messages.map(({ items }) => items)
    const command = { verb: 'apply', queue, rest: [messages, request], pushes } as Command
    return writer.call(command) as ReturnType<Queues['apply']>
  },
})

/** As they came: ten of one queue at a time, in order. */
function batchesOf(records: readonly SQSRecord[]): SQSRecord[][] {
  const groups = Map.groupBy(records, ({ attributes }) => attributes.MessageGroupId ?? '')
  return [...groups.values()].flatMap((group) => {
    const sorted = group.sort((a, b) => (numberOf(a) < numberOf(b) ? -1 : 1))
    return Array.from({ length: Math.ceil(sorted.length / 10) }, (_, n) =>
      sorted.slice(10 * n, 10 * n + 10),
    )
  })
}

const numberOf = ({ attributes }: SQSRecord): bigint => BigInt(attributes.SequenceNumber ?? 0)
