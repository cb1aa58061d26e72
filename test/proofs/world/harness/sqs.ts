import type { SQSRecord } from 'aws-lambda'
import { GROUP_DELAY_SECONDS_MAX } from '../../../../lambdas/inbox/apply.ts'
import type { Message } from '../../../../lambdas/inbox/send.ts'
import { receivedMessage } from '../../../../local/sqs/actions.ts'
import { type Clockwork, Queues } from '../../../../local/sqs/core/queues.ts'
import { type ReceivedMessage, sqsRecord } from '../../../../local/sqs/queue-mapping.ts'

/** The local stack's SQS without its server, with the inbox and its dead-letter queue as the template has them. */

const INBOX = 'inbox.fifo'
const FAILURES = 'failures.fifo'
const WANTED = { systemAttributes: ['All'], attributes: ['All'] }
const DAY_SECONDS = 86_400

const common = {
  FifoQueue: 'true',
  ContentBasedDeduplication: 'true',
  DeduplicationScope: 'messageGroup',
  FifoThroughputLimit: 'perMessageGroupId',
  MessageRetentionPeriod: String(14 * DAY_SECONDS),
}

/** `One`: what its sender knows of a message. */
export class Sqs<One> {
  readonly #queues: Queues
  readonly #clock: Clockwork
  /** By their sequence numbers: each message once, however often its sender has sent it. */
  readonly accepted = new Map<string, One>()

  constructor(clock: Clockwork) {
    this.#clock = clock
    this.#queues = new Queues(clock)
    this.#queues.create(FAILURES, common)
    const redrive = { deadLetterTargetArn: this.#queues.find(FAILURES).arn, maxReceiveCount: 1_000 }
    this.#queues.create(INBOX, {
      ...common,
      VisibilityTimeout: String(GROUP_DELAY_SECONDS_MAX),
      RedrivePolicy: JSON.stringify(redrive),
    })
  }

  /** `deduplicationId`: SQS makes one of the body where a sender gives none. */
  send(
    { queue, body, idempotencyKey, ...given }: Omit<Message, 'deduplicationId'> & Partial<Message>,
    one: One,
  ) {
    const { deduplicationId } = given
    const key = { DataType: 'String', StringValue: idempotencyKey ?? '' }
    const attributes = idempotencyKey === undefined ? {} : { 'idempotency-key': key }
    const sent = this.#queues.send(INBOX, { body, groupId: queue, deduplicationId, attributes })
    if (!this.accepted.has(sent.sequence)) this.accepted.set(sent.sequence, one)
    return { messageId: sent.id }
  }

  receive(): SQSRecord[] {
    const { arn } = this.#queues.find(INBOX)
    return this.#queues.receive(INBOX, { max: 10 }).map((received) => {
      const message = receivedMessage(received, true, WANTED) as unknown as ReceivedMessage
      return sqsRecord(message, arn) as unknown as SQSRecord
    })
  }

  /** A handle that is not good any more is no error here: the message comes again, as on AWS. */
  delete(handle: string): void {
    try {
      this.#queues.find(INBOX).delete(handle, this.#clock.nowMs())
    } catch {
      // Visible again meanwhile.
    }
  }

  changeVisibility(handle: string, seconds: number): void {
    this.#queues.find(INBOX).changeVisibility(handle, seconds * 1_000, this.#clock.nowMs())
  }

  giveUp({ queue, body, deduplicationId }: Message): void {
    this.#queues.send(FAILURES, { body, groupId: queue, deduplicationId, attributes: {} })
  }

  /** Bodies of what was given up; ends their life. */
  takeFailures(): string[] {
    const bodies: string[] = []
    for (;;) {
      const received = this.#queues.receive(FAILURES, { max: 10 })
      if (received.length === 0) return bodies
      for (const { message, delivery } of received) {
        bodies.push(message.body)
        this.#queues.find(FAILURES).delete(delivery.handle, this.#clock.nowMs())
      }
    }
  }

  /** When there may be something to receive, if nobody sends or deletes anything before. */
  get nextMs(): number {
    return this.#queues.find(INBOX).nextMs(this.#clock.nowMs())
  }

  get isEmpty(): boolean {
    const { visible, inFlight } = this.#queues.find(INBOX).counts(this.#clock.nowMs())
    return visible + inFlight === 0
  }
}
