// An event source mapping: reads a table's stream, keeps what its filters let through, and hands it
// to the function in batches, in order.

import { setTimeout as delay } from 'node:timers/promises'
import { compilePattern } from '../events/pattern.ts'
import type { Outcome } from '../functions/messages.ts'
import type { StreamPlan } from '../template/plan-streams.ts'
import { batchAnswer } from './batch-answer.ts'
import type { Checkpoint } from './checkpoint.ts'
import {
  type BatchAnswer,
  type DeliveryEdge,
  deliverBatch,
  type GiveUpReason,
} from './deliver-batch.ts'
import type { Page, Position } from './stream-reader.ts'
import { changesSomething, lambdaRecord, type StreamRecord, sequenceOf } from './stream-record.ts'

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
