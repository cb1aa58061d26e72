// Every request to DynamoDB, so that each way to fail is handled once. We send a request again only if we know that
// it has changed nothing, or if a second copy changes nothing. What is left for callers: a write was done, or its
// condition failed, or its answer was lost and nobody knows. The class is large because it holds the loops in which
// that is decided.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  type DeleteCommandInput,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { NOTHING_CHANGED, QueueError } from '../shared/errors.ts'
import type { Clock, Random } from '../shared/system.ts'
import { fromAttributes } from './attribute-values.ts'
import { asDocumentPort, bounded, type DocumentPort } from './document-port.ts'
import {
  answerTimeoutsMs,
  briefPatience,
  type Cancellation,
  CLEAN_UP_MS,
  cancellationReasons,
  failureOf,
  isConflict,
  isPassing,
  type Passing,
  type Patience,
  patienceFor,
  withoutSdkRetry,
} from './failures.ts'
import type { Key, Row } from './table.ts'

export type { Clock, DocumentPort, Random, Row }

/** The outcome of a write. We have already retried after throttling and conflicts, which change nothing. */
export type Written =
  | { readonly kind: 'done'; readonly row: Row | undefined }
  | { readonly kind: 'failed'; readonly row: Row | undefined }
  | { readonly kind: 'unknown'; readonly cause: unknown }

export type Transacted =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly reasons: readonly Cancellation[] }
  | { readonly kind: 'unknown'; readonly cause: unknown }

/**
 * For how long we have tried a request, and when we last sent it. We count refusals separately for each kind of
 * patience: a throttle after many conflicts is the first of its kind.
 */
type Waited = { ms: number; sentMs: number; readonly refusals: Map<Patience, number> }
const startWaiting = (): Waited => ({ ms: 0, sentMs: 0, refusals: new Map() })
const ANSWER_COUNTS_MS_MAX = 500

/** A read may be repeated after any failure. */
const READ_ATTEMPTS_MAX = 4
const BATCH_WRITE_ROWS_MAX = 25
export const BATCH_GET_KEYS_MAX = 100

type UpdateInput = Omit<UpdateCommandInput, 'TableName' | 'Key'>

export class Dynamo {
  readonly tableName: string
  readonly #clock: Clock
  readonly #random: Random
  #port: DocumentPort
  #lastThrottled = { ms: Number.NEGATIVE_INFINITY }
  #deadlineMs = Number.POSITIVE_INFINITY

  constructor(
    client: DynamoDBClient | DocumentPort,
    tableName: string,
    clock: Clock,
    random: Random,
    answerTimeoutMs: number = answerTimeoutsMs.dynamodb,
  ) {
    this.tableName = tableName
    this.#port = bounded(asDocumentPort(client), answerTimeoutMs)
    this.#clock = clock
    this.#random = random
  }

  /** The same store, but from this time on we send no more requests: they fail, and certainly change nothing. */
  until(deadlineMs: number): Dynamo {
    return this.#boundBy(Math.min(deadlineMs, this.#deadlineMs))
  }

  /** The same store, for a call that deletes what it wrote for nothing before its time was up. */
  cleaningUp(): Dynamo {
    return this.#boundBy(this.#deadlineMs + CLEAN_UP_MS)
  }

  #boundBy(deadlineMs: number): Dynamo {
    const bounded = new Dynamo(this.#port, this.tableName, this.#clock, this.#random)
    bounded.#port = this.#port
    bounded.#lastThrottled = this.#lastThrottled
    bounded.#deadlineMs = deadlineMs
    return bounded
  }

  /** Whether the store has recently refused a request of this engine for lack of units. */
  throttledSince(sinceMs: number): boolean {
    return this.#lastThrottled.ms >= sinceMs
  }

  async get(key: Key, consistent: boolean): Promise<Row | undefined> {
    const input = { TableName: this.tableName, Key: key, ConsistentRead: consistent }
    const output = await this.#repeat<{ Item?: Row }>(() => new GetCommand(input))
    return output.Item
  }

  async update(key: Key, expressions: UpdateInput, eager = false): Promise<Written> {
    return this.#write(() => this.#updateOf(key, expressions), eager)
  }

  #updateOf(key: Key, expressions: UpdateInput): object {
    return new UpdateCommand({
      TableName: this.tableName,
      Key: key,
      ...expressions,
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
  }

  /**
   * Sends the update once and never throws: for updates that the caller can do without. It does not count as
   * a sign of throttling either, because one busy row is not a busy table.
   */
  async updateOnce(
    key: Key,
    expressions: UpdateInput,
  ): Promise<Written | { readonly kind: 'refused'; readonly cause: unknown }> {
    try {
      return written(await this.#send(this.#updateOf(key, expressions)))
    } catch (error) {
      const failure = failureOf(error)
      if (failure === 'condition') return failed(error)
      return { kind: failure === 'unknown' ? 'unknown' : 'refused', cause: error }
    }
  }

  async put(input: Omit<PutCommandInput, 'TableName'>): Promise<Written> {
    return this.#write(() => new PutCommand(this.#conditional(input)))
  }

  async delete(input: Omit<DeleteCommandInput, 'TableName'>): Promise<Written> {
    return this.#write(() => new DeleteCommand(this.#conditional(input)))
  }

  #conditional<I extends object>(input: I) {
    const ReturnValuesOnConditionCheckFailure = 'ALL_OLD'
    return { TableName: this.tableName, ReturnValuesOnConditionCheckFailure, ...input } as const
  }

  /** `isBrief`: the caller can do without this, so we do not wait long for others. */
  async transact(
    input: TransactWriteCommandInput,
    { isBrief = false }: { readonly isBrief?: boolean | undefined } = {},
  ): Promise<Transacted> {
    const waited = startWaiting()
    for (;;) {
      this.#checkDeadline()
      waited.sentMs = this.#clock.nowMs()
      try {
        await this.#send(new TransactWriteCommand(input))
        return { kind: 'done' }
      } catch (error) {
        const failure = failureOf(error)
        if (failure === 'unknown') return { kind: 'unknown', cause: error }
        if (isPassing(failure)) {
          await this.#backOff(error, failure, { waited, isBrief })
          continue
        }
        if (failure !== 'cancelled') throw error
        const reasons = cancellationReasons(error)
        if (reasons.some(({ failed }) => failed)) return { kind: 'failed', reasons }
        // Refused for now, and nothing changed.
        const why = isConflict(error) ? 'conflict' : 'throttled'
        await this.#backOff(error, why, { waited, isBrief })
      }
    }
  }

  /** One page, whose rows are in order. */
  async query(
    input: Omit<QueryCommandInput, 'TableName'>,
  ): Promise<{ rows: readonly Row[]; next: Row | undefined }> {
    const output = await this.#repeat<{ Items?: Row[]; LastEvaluatedKey?: Row }>(
      () => new QueryCommand({ TableName: this.tableName, ...input }),
    )
    return { rows: output.Items ?? [], next: output.LastEvaluatedKey }
  }

  /** Leaves out rows that do not exist. */
  async getMany(keys: readonly Key[], consistent: boolean): Promise<Row[]> {
    const { rows, unread } = await this.getReadable(keys, consistent)
    if (unread !== undefined) throw unread.error
    return rows
  }

  /**
   * The rows that the store returns, and the keys of those that it does not: one throttled item must
   * not keep the others from a caller who can do without it.
   */
  async getReadable(
    keys: readonly Key[],
    consistent: boolean,
  ): Promise<{ rows: Row[]; unread?: { readonly keys: readonly Key[]; readonly error: unknown } }> {
    const rows: Row[] = []
    let left = [...keys]
    const waited = startWaiting()
    try {
      while (left.length > 0) {
        const asked = left.slice(0, BATCH_GET_KEYS_MAX)
        const output = await this.#repeat<{
          Responses?: Record<string, Row[]>
          UnprocessedKeys?: Record<string, { Keys?: Key[] }>
        }>(
          () =>
            new BatchGetCommand({
              RequestItems: { [this.tableName]: { Keys: asked, ConsistentRead: consistent } },
            }),
        )
        const found = output.Responses?.[this.tableName] ?? []
        const unprocessed = output.UnprocessedKeys?.[this.tableName]?.Keys ?? []
        rows.push(...found)
        left = [...unprocessed, ...left.slice(BATCH_GET_KEYS_MAX)]
        // A page of 16 MB makes progress; only one that brought nothing counts against the limit.
        if (unprocessed.length === asked.length) {
          await this.#backOff(new Error('BatchGetItem processed nothing'), 'throttled', { waited })
        }
      }
    } catch (error) {
      if (!(error instanceof QueueError)) throw error
      return { rows, unread: { keys: left, error } }
    }
    return { rows }
  }

  /** Puts rows whose keys always have the same contents, so that repeating a put changes nothing. */
  async putMany(rows: readonly Row[], eager = false): Promise<void> {
    const first = rows[0]
    if (rows.length === 1 && first !== undefined) {
      await this.#repeat(() => new PutCommand({ TableName: this.tableName, Item: first }), eager)
      return
    }
    await this.#writeMany(
      rows.map((row) => ({ PutRequest: { Item: row } })),
      eager,
    )
  }

  async deleteMany(keys: readonly Key[]): Promise<void> {
    await this.#writeMany(keys.map((key) => ({ DeleteRequest: { Key: key } })))
  }

  async #writeMany(requests: readonly Row[], eager = false): Promise<void> {
    // 16 MB is the limit of one call: 25 rows of at most 400 KB are below it.
    for (let at = 0; at < requests.length; at += BATCH_WRITE_ROWS_MAX) {
      let left: readonly Row[] = requests.slice(at, at + BATCH_WRITE_ROWS_MAX)
      const waited = startWaiting()
      while (left.length > 0) {
        const asked = left
        const output = await this.#repeat<{ UnprocessedItems?: Record<string, Row[]> }>(
          () => new BatchWriteCommand({ RequestItems: { [this.tableName]: [...asked] } }),
          eager,
        )
        left = output.UnprocessedItems?.[this.tableName] ?? []
        if (left.length > 0) {
          const cause = new Error('BatchWriteItem left rows unprocessed')
          await this.#backOff(cause, 'throttled', { isEager: eager, waited })
        }
      }
    }
  }

  async #write(command: () => object, isEager = false): Promise<Written> {
    const waited = startWaiting()
    for (;;) {
      this.#checkDeadline()
      waited.sentMs = this.#clock.nowMs()
      try {
        return written(await this.#send(command()))
      } catch (error) {
        const failure = failureOf(error)
        switch (failure) {
          case 'condition':
            return failed(error)
          case 'unknown':
            return { kind: 'unknown', cause: error }
          case 'throttled':
          case 'conflict':
          case 'unsent':
            await this.#backOff(error, failure, { isEager, waited })
            break
          default:
            throw error
        }
      }
    }
  }

  /** For requests that we may repeat: reads, and writes whose repetition changes nothing. */
  async #repeat<T>(command: () => object, isEager = false): Promise<T> {
    const waited = startWaiting()
    for (let lost = 0; ; ) {
      this.#checkDeadline()
      waited.sentMs = this.#clock.nowMs()
      try {
        return (await this.#send(command())) as T
      } catch (error) {
        const failure = failureOf(error)
        if (!isPassing(failure)) throw error
        if (failure === 'unknown') lost += 1
        if (lost === READ_ATTEMPTS_MAX) throw unavailable(error)
        await this.#backOff(error, failure, { isEager, waited })
      }
    }
  }

  async #backOff(
    cause: unknown,
    failure: Passing,
    {
      waited,
      isEager = false,
      isBrief = false,
    }: { readonly waited: Waited; readonly isEager?: boolean; readonly isBrief?: boolean },
  ): Promise<void> {
    if (failure === 'throttled') this.#lastThrottled.ms = this.#clock.nowMs()
    const patience = isBrief ? briefPatience : patienceFor(failure, isEager)
    const { attemptsMax, lastsMs = Number.POSITIVE_INFINITY, pauseMs } = patience
    const attempt = (waited.refusals.get(patience) ?? 0) + 1
    waited.refusals.set(patience, attempt)
    if (attempt >= attemptsMax || waited.ms >= lastsMs) {
      throw failure === 'conflict' ? inTheWay(cause) : unavailable(cause)
    }
    const ms = pauseMs(attempt, this.#random)
    // If somebody sets the clock forward, that must not use up the patience, so an answer counts half a second at most.
    const tookMs = this.#clock.nowMs() - waited.sentMs
    waited.ms += ms + Math.max(0, Math.min(ANSWER_COUNTS_MS_MAX, tookMs))
    await this.#clock.sleep(ms)
  }

  /** Earlier attempts were refused, or only read, so nothing has changed that the caller does not know of. */
  #checkDeadline(): void {
    if (this.#clock.nowMs() < this.#deadlineMs) return
    throw unavailable(new Error('The time for this work is up'))
  }

  #send(command: object): Promise<unknown> {
    return this.#port.send(withoutSdkRetry(command) as never)
  }
}

const written = (output: unknown): Written => ({
  kind: 'done',
  row: (output as { readonly Attributes?: Row }).Attributes,
})

/** The document client does not decode the item of an exception. */
function failed(error: unknown): Written {
  const raw = (error as { readonly Item?: object }).Item
  return { kind: 'failed', row: raw && fromAttributes(raw) }
}

const inTheWay = (cause: unknown): QueueError =>
  new QueueError(
    'BUSY',
    `Too many transactions are at work on the same item; ${NOTHING_CHANGED}, try again in a moment`,
    { cause },
  )

export const unavailable = (cause: unknown): QueueError =>
  new QueueError('STORE_UNAVAILABLE', 'The store is busy or out of reach; try again in a moment', {
    cause,
  })
