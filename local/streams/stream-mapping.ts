// An event source mapping: reads a table's stream, keeps what its filters let through, and hands it to the function in
// batches, in order. A batch is delivered until the function has taken all of it or we have given up the rest; after a
// record that fails, nothing goes on before that record is settled one way or the other.

import { setTimeout as delay } from 'node:timers/promises'
import { compilePattern } from '../events/event-language.ts'
import type { Outcome } from '../functions/messages.ts'
import { isObject } from '../template/assembly.ts'
import type { StreamPlan } from '../template/plan-sources.ts'
import {
  type Checkpoint,
  changesSomething,
  createdAtMs,
  lambdaRecord,
  type Page,
  type Position,
  type StreamRecord,
  sequenceOf,
} from './stream-reader.ts'

type MappingSettings = {
  readonly plan: StreamPlan
  readonly reader: { read(): Promise<Page> }
  readonly checkpoint: Pick<Checkpoint, 'advance' | 'save'>
  readonly invoke: (event: string) => Promise<Outcome>
  readonly onGivenUp: (givenUp: GivenUp) => void
  readonly onProblem: (sentence: string) => void
}

/** What Lambda would put into the failure queue. */
export type GivenUp = {
  readonly mappingId: string
  readonly reason: GiveUpReason
  readonly attempts: number
  readonly firstSequenceNumber: string
  readonly lastSequenceNumber: string
  readonly records: number
}

/**
 * An empty read takes 0.7 ms of processor time, so this costs a hundredth of a core, and nobody waits long.
 * A full page is 1,000 records: far more than anybody writes in this time.
 */
const POLL_MS = 60
const PROBLEM_MS = 1_000
/** Lambda's limit of an event. */
const BATCH_BYTES_MAX = 6_000_000

export class StreamMapping {
  readonly #settings: MappingSettings
  readonly #isWanted: (record: StreamRecord) => boolean
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined

  constructor(settings: MappingSettings) {
    this.#settings = settings
    const patterns = settings.plan.patterns.map(compilePattern)
    const isLetThrough = (record: StreamRecord) =>
      patterns.length === 0 || patterns.some((fits) => fits(record))
    this.#isWanted = (record) => isLetThrough(record) && changesSomething(record)
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Waits for the batch that the function has. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    this.#settings.checkpoint.save()
  }

  async #run(): Promise<void> {
    const { plan, reader, checkpoint, onProblem } = this.#settings
    const { signal } = this.#stop
    let waiting: StreamRecord[] = []
    let waitingSinceMs = 0
    let hadProblem = false
    while (!signal.aborted) {
      let page: Page
      try {
        page = await reader.read()
        hadProblem = false
      } catch (error) {
        if (!hadProblem) onProblem(`Cannot read the stream of ${plan.tableName}: ${error}`)
        hadProblem = true
        await this.#pause(PROBLEM_MS)
        continue
      }
      const wanted = page.records.filter(this.#isWanted)
      if (waiting.length === 0) waitingSinceMs = Date.now()
      waiting.push(...wanted)
      const isDue = waiting.length >= plan.batchSize || Date.now() - waitingSinceMs >= plan.windowMs
      if (waiting.length > 0 && isDue) {
        await this.#deliver(waiting, page.position)
        waiting = []
      }
      // Never advance past a record that waits.
      if (waiting.length === 0 && page.records.length > 0 && page.position && !signal.aborted) {
        checkpoint.advance(page.position)
      }
      await this.#pause(POLL_MS)
    }
  }

  async #deliver(records: readonly StreamRecord[], position: Position | undefined): Promise<void> {
    const { plan, checkpoint, onGivenUp } = this.#settings
    const edge: DeliveryEdge = {
      invoke: (part) => this.#invoke(part),
      giveUp: (part, reason, attempts) =>
        onGivenUp({
          mappingId: plan.id,
          reason,
          attempts,
          firstSequenceNumber: sequenceOf(part[0] as StreamRecord),
          lastSequenceNumber: sequenceOf(part.at(-1) as StreamRecord),
          records: part.length,
        }),
      settled: (part) => {
        const last = part.at(-1)
        if (last && position) checkpoint.advance({ ...position, sequenceNumber: sequenceOf(last) })
      },
      nowMs: () => Date.now(),
      sleep: (ms) => this.#pause(ms),
      isStopping: () => this.#stop.signal.aborted,
    }
    for (const batch of batches(records, plan.batchSize)) await deliverBatch(batch, plan, edge)
  }

  async #invoke(records: readonly StreamRecord[]): Promise<BatchAnswer> {
    const { plan, invoke } = this.#settings
    const event = { Records: records.map((record) => lambdaRecord(record, plan.streamArn)) }
    const outcome = await invoke(JSON.stringify(event))
    // It did not fail but ended with the stack, and that must not count against the records.
    if (outcome.kind === 'failed' && this.#stop.signal.aborted) return { kind: 'not asked' }
    return batchAnswer(outcome, records, plan.reportsItemFailures)
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {})
  }
}

/** Splits records into batches by number and, if they are large, by weight. */
export function* batches<T>(
  records: readonly T[],
  sizeMax: number,
  bytesMax = BATCH_BYTES_MAX,
): Generator<readonly T[]> {
  let batch: T[] = []
  let bytes = 0
  for (const record of records) {
    const size = JSON.stringify(record).length
    if (batch.length > 0 && (batch.length === sizeMax || bytes + size > bytesMax)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(record)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

/** The function's answer to a batch. */
export type BatchAnswer =
  | { readonly kind: 'done' }
  /** It took the records before this index. */
  | { readonly kind: 'failed'; readonly from: number }
  /** It was not asked: the stack is stopping, or all its processes are busy. */
  | { readonly kind: 'not asked' }

export type DeliveryRules = {
  /** On a failure try each half by itself, which does not count as a retry. */
  readonly bisects: boolean
  readonly retriesMax?: number | undefined
  readonly recordAgeMaxMs?: number | undefined
}

type GiveUpReason = 'RetryAttemptsExhausted' | 'RecordAgeExceeded'

export type DeliveryEdge = {
  invoke(records: readonly StreamRecord[]): Promise<BatchAnswer>
  giveUp(records: readonly StreamRecord[], reason: GiveUpReason, attempts: number): void
  /** The records need not be delivered again. */
  settled(records: readonly StreamRecord[]): void
  nowMs(): number
  sleep(ms: number): Promise<void>
  isStopping(): boolean
}

/** Soon enough to watch: a function that fails for a minute is tried some ten times. */
const RETRY_FIRST_MS = 100
const RETRY_MS_MAX = 10_000

type Part = {
  readonly records: readonly StreamRecord[]
  /** How often the first of them has failed. */
  readonly failures: number
}

/** Returns early, with records neither taken nor given up, only where the stack is stopping. */
export async function deliverBatch(
  records: readonly StreamRecord[],
  rules: DeliveryRules,
  edge: DeliveryEdge,
): Promise<void> {
  const parts: Part[] = [{ records, failures: 0 }]
  for (;;) {
    const part = parts.shift()
    if (!part || edge.isStopping()) return
    const young = withoutTooOld(part.records, rules, edge, part.failures)
    if (young.length === 0) continue
    const answer = await edge.invoke(young)
    switch (answer.kind) {
      case 'done':
        edge.settled(young)
        break
      case 'not asked':
        parts.unshift({ records: young, failures: part.failures })
        await edge.sleep(RETRY_FIRST_MS)
        break
      case 'failed':
        parts.unshift(
          ...(await afterFailure({ ...part, records: young }, answer.from, rules, edge)),
        )
        break
      default:
        answer satisfies never
    }
  }
}

/** What is left to deliver of a part that failed; after a pause, if it is the same part again. */
async function afterFailure(
  { records, failures }: Part,
  from: number,
  { bisects, retriesMax = Number.POSITIVE_INFINITY }: DeliveryRules,
  edge: DeliveryEdge,
): Promise<readonly Part[]> {
  if (from > 0) edge.settled(records.slice(0, from))
  const left = records.slice(from)
  const failuresOfFirst = from > 0 ? 1 : failures + 1
  if (from === 0 && bisects && left.length > 1) {
    const middle = Math.ceil(left.length / 2)
    return [
      { records: left.slice(0, middle), failures },
      { records: left.slice(middle), failures: 0 },
    ]
  }
  if (failuresOfFirst > retriesMax) {
    edge.giveUp(left, 'RetryAttemptsExhausted', failuresOfFirst)
    edge.settled(left)
    return []
  }
  await edge.sleep(Math.min(RETRY_MS_MAX, RETRY_FIRST_MS * 2 ** (failuresOfFirst - 1)))
  return [{ records: left, failures: failuresOfFirst }]
}

function withoutTooOld(
  records: readonly StreamRecord[],
  { recordAgeMaxMs = Number.POSITIVE_INFINITY }: DeliveryRules,
  edge: DeliveryEdge,
  failures: number,
): readonly StreamRecord[] {
  // They are in order of age.
  const at = records.findIndex((record) => edge.nowMs() - createdAtMs(record) <= recordAgeMaxMs)
  const tooOld = at < 0 ? records : records.slice(0, at)
  if (tooOld.length === 0) return records
  edge.giveUp(tooOld, 'RecordAgeExceeded', failures)
  edge.settled(tooOld)
  return records.slice(tooOld.length)
}

/**
 * What a function's answer says about a batch. With ReportBatchItemFailures it names the records
 * that failed; everything from the first of them on counts as failed, because order is kept.
 */
export function batchAnswer(
  outcome: Outcome,
  records: readonly StreamRecord[],
  reportsItemFailures: boolean,
): BatchAnswer {
  switch (outcome.kind) {
    case 'throttled':
      return { kind: 'not asked' }
    case 'failed':
      return { kind: 'failed', from: 0 }
    case 'answered':
      return reportsItemFailures ? readFailures(outcome.payload, records) : { kind: 'done' }
    default:
      return outcome satisfies never
  }
}

function readFailures(payload: string, records: readonly StreamRecord[]): BatchAnswer {
  const answer: unknown = JSON.parse(payload)
  // Nothing, or an object without failures, is success, as on AWS.
  if (answer === null || answer === '') return { kind: 'done' }
  const failures = isObject(answer) ? (answer.batchItemFailures ?? []) : undefined
  if (!Array.isArray(failures)) return { kind: 'failed', from: 0 }
  if (failures.length === 0) return { kind: 'done' }
  const indexes = failures.map((failure) =>
    records.findIndex(
      (record) => isObject(failure) && failure.itemIdentifier === sequenceOf(record),
    ),
  )
  // A record that was not in the batch: AWS then takes the whole batch as failed.
  return { kind: 'failed', from: Math.max(0, Math.min(...indexes)) }
}
