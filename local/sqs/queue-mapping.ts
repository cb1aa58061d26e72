// An event source mapping that polls a queue: it hands the messages to the function in batches, and deletes those
// that the function has handled. The others stay in flight and come again once they are visible, as on AWS. SQS
// itself makes sure that a group has only one batch at a time.

import { setTimeout as delay } from 'node:timers/promises'
import { compilePattern } from '../events/event-language.ts'
import type { Outcome } from '../functions/messages.ts'
import type { SqsApi } from '../stores/store-api.ts'
import { batches } from '../streams/stream-mapping.ts'
import { isObject } from '../template/assembly.ts'
import { REGION } from '../template/identities.ts'
import type { QueueMappingPlan } from '../template/plan-sources.ts'

type MappingSettings = {
  readonly plan: QueueMappingPlan
  readonly sqs: SqsApi
  /** How many batches may be under way at once. */
  readonly concurrencyMax: number
  readonly invoke: (event: string) => Promise<Outcome>
  readonly onProblem: (sentence: string) => void
}

const WAIT_SECONDS = 20
const RECEIVED_MAX = 10
const PROBLEM_MS = 1_000
/** For how long we give a batch back if the function has no room for it. */
const GIVEN_BACK_SECONDS = 1

/** The outcome of messages after a failure in a FIFO queue: we do not try them. */
const passed: Outcome = { kind: 'failed', payload: '' }

export class QueueMapping {
  readonly #settings: MappingSettings
  readonly #isWanted: (record: SqsRecord) => boolean
  readonly #stop = new AbortController()
  readonly #batches = new Set<Promise<void>>()
  #running: Promise<void> | undefined
  #hadProblem = false

  constructor(settings: MappingSettings) {
    this.#settings = settings
    this.#isWanted = messageFilter(settings.plan.patterns)
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Waits for the batches that the function has. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await Promise.all(this.#batches)
  }

  async #run(): Promise<void> {
    const { concurrencyMax } = this.#settings
    while (!this.#stop.signal.aborted) {
      const messages = await this.#try('read', () => this.#gather())
      if (!messages) await this.#pause(PROBLEM_MS)
      if (!messages || messages.length === 0) continue
      const batch: Promise<void> = this.#work(messages).finally(() => this.#batches.delete(batch))
      this.#batches.add(batch)
      while (this.#batches.size >= concurrencyMax) await Promise.race(this.#batches)
    }
  }

  /** A batch; with a window, all messages that come within it. */
  async #gather(): Promise<readonly ReceivedMessage[]> {
    const { batchSize, windowMs } = this.#settings.plan
    const messages = [...(await this.#receive(batchSize, WAIT_SECONDS))]
    if (messages.length === 0) return messages
    const untilMs = Date.now() + windowMs
    while (messages.length < batchSize && !this.#stop.signal.aborted) {
      const leftMs = untilMs - Date.now()
      if (leftMs <= 0) break
      const more = await this.#receive(batchSize - messages.length, Math.floor(leftMs / 1000))
      messages.push(...more)
      if (more.length === 0) await this.#pause(Math.min(leftMs, PROBLEM_MS))
    }
    return messages
  }

  async #receive(wanted: number, waitSeconds: number): Promise<readonly ReceivedMessage[]> {
    const { sqs, plan } = this.#settings
    const input = {
      QueueUrl: plan.queueUrl,
      MaxNumberOfMessages: Math.min(RECEIVED_MAX, wanted),
      WaitTimeSeconds: Math.min(WAIT_SECONDS, waitSeconds),
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
      // Only the local SQS knows this.
      IsForFunction: true,
    }
    const { Messages = [] } = await sqs('ReceiveMessage', input, this.#stop.signal)
    return Messages as readonly ReceivedMessage[]
  }

  async #work(messages: readonly ReceivedMessage[]): Promise<void> {
    const { plan, invoke } = this.#settings
    const { signal } = this.#stop
    const records = messages.map((message) => sqsRecord(message, plan.queueArn))
    const failed = new Set<string>()
    let wasAsked = true
    for (const part of batches(records.filter(this.#isWanted), plan.batchSize)) {
      const isPassed = plan.isFifo && failed.size > 0
      const outcome = isPassed ? passed : await invoke(JSON.stringify({ Records: part }))
      for (const id of failedMessages(outcome, part, plan.reportsItemFailures)) failed.add(id)
      // If the stack stops, the function has not failed: it ended with the stack. If somebody kills its process, we
      // know so at once; on AWS, nobody could tell whether it still works.
      if (outcome.kind === 'throttled') wasAsked = false
      else if (outcome.kind === 'failed' && (signal.aborted || outcome.wasKilled)) wasAsked = false
    }
    await this.#try('delete from', () =>
      this.#settle('DeleteMessageBatch', messages, (id) => !failed.has(id)),
    )
    if (wasAsked) return
    const VisibilityTimeout = signal.aborted ? 0 : GIVEN_BACK_SECONDS
    await this.#try('return to', () =>
      this.#settle('ChangeMessageVisibilityBatch', messages, (id) => failed.has(id), {
        VisibilityTimeout,
      }),
    )
  }

  async #settle(
    action: string,
    messages: readonly ReceivedMessage[],
    isMeant: (id: string) => boolean,
    more: object = {},
  ): Promise<void> {
    const { sqs, plan } = this.#settings
    const meant = messages.filter(({ MessageId }) => isMeant(MessageId))
    for (let from = 0; from < meant.length; from += RECEIVED_MAX) {
      const Entries = meant
        .slice(from, from + RECEIVED_MAX)
        .map(({ MessageId, ReceiptHandle }) => ({ Id: MessageId, ReceiptHandle, ...more }))
      // If SQS refuses one of these, its message is visible again already, and comes again.
      await sqs(action, { QueueUrl: plan.queueUrl, Entries })
    }
  }

  async #try<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await act()
      this.#hadProblem = false
      return result
    } catch (error) {
      const { plan, onProblem } = this.#settings
      if (!this.#hadProblem && !this.#stop.signal.aborted) {
        onProblem(`Cannot ${what} the queue of ${plan.id}: ${error}`)
      }
      this.#hadProblem = true
      return undefined
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {})
  }
}

/**
 * The ids of the messages that a function did not handle. With ReportBatchItemFailures it names them, and Lambda
 * deletes all the others, of a FIFO queue too: order holds only if the function names what comes after a failure.
 */
export function failedMessages(
  outcome: Outcome,
  records: readonly SqsRecord[],
  reportsItemFailures: boolean,
): ReadonlySet<string> {
  const all = new Set(records.map(({ messageId }) => messageId))
  if (outcome.kind !== 'answered') return all
  return reportsItemFailures ? (named(JSON.parse(outcome.payload), all) ?? all) : new Set()
}

/** `undefined` for an answer that Lambda takes for a failure of the whole batch. */
function named(answer: unknown, all: ReadonlySet<string>): ReadonlySet<string> | undefined {
  // Nothing, or an object without failures, is success, as on AWS.
  if (answer === null || answer === '') return new Set()
  const failures = isObject(answer) ? (answer.batchItemFailures ?? []) : undefined
  if (!Array.isArray(failures)) return undefined
  const ids = failures.map((failure) => (isObject(failure) ? failure.itemIdentifier : undefined))
  const isKnown = (id: unknown): id is string => typeof id === 'string' && all.has(id)
  return ids.every(isKnown) ? new Set(ids) : undefined
}

type Pattern = Readonly<Record<string, unknown>>

/** A pattern of fields looks into a body of JSON; a pattern of values compares the body as text. */
export function messageFilter(patterns: readonly Pattern[]): (record: SqsRecord) => boolean {
  const compiled = patterns.map((pattern) => ({
    fits: compilePattern(pattern),
    readsJson: isObject(pattern.body),
  }))
  return (record) =>
    compiled.length === 0 ||
    compiled.some(({ fits, readsJson }) =>
      fits(readsJson ? { ...record, body: jsonOf(record.body) } : record),
    )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As ReceiveMessage gives it. */
export type ReceivedMessage = {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
  readonly MD5OfBody: string
  readonly Attributes?: Readonly<Record<string, string>> | undefined
  readonly MessageAttributes?:
    | Readonly<Record<string, { DataType: string; StringValue?: string; BinaryValue?: string }>>
    | undefined
  readonly MD5OfMessageAttributes?: string | undefined
}

export type SqsRecord = Readonly<Record<string, unknown>> & {
  readonly messageId: string
  readonly body: string
}

export function sqsRecord(message: ReceivedMessage, queueArn: string): SqsRecord {
  const { MD5OfMessageAttributes, MessageAttributes = {} } = message
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
        name,
        {
          ...(StringValue !== undefined && { stringValue: StringValue }),
          ...(BinaryValue !== undefined && { binaryValue: BinaryValue }),
          stringListValues: [],
          binaryListValues: [],
          dataType: DataType,
        },
      ]),
    ),
    md5OfBody: message.MD5OfBody,
    ...(MD5OfMessageAttributes !== undefined && { md5OfMessageAttributes: MD5OfMessageAttributes }),
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: REGION,
  }
}
