// A stack in virtual time: the minute's sweep, the stream with its delays, and Wake, on a store whose index lags.

// Before the time begins: what is loaded later would come at some real time.
import '../support/engine-loaded.ts'
import { createQueues, type Queues } from '../../engine/queues.ts'
import type { Random } from '../../shared/system.ts'
import { seeded } from '../../testing/random.ts'
import type { Change } from '../../testing/simulated/dynamodb/database.ts'
import { createSimulatedClient } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { createVirtualTime, type VirtualTime } from '../../testing/simulated/virtual-time.ts'

const REQUEST_MS = 5
const MINUTE_MS = 60_000
/** What Lambda gives a run, less what it keeps for its last line. */
const RUN_MS = 290_000
const TABLE = 'simulated'

type WorldOptions = {
  readonly seed?: number
  /** How far the index may be behind, at most. */
  readonly behindMs?: number
  /** Without Wake, only the sweep comes. */
  readonly wakes?: boolean
  /** Kills a run so long after it began. */
  readonly dies?: (run: number) => number | undefined
  /** Answers of the sweep to Wake, and of the stream, may be lost. */
  readonly hears?: boolean
}

type Stored = { K?: Record<string, { x: number }>; wk?: string; checkAt?: number; last?: number }

export class WakeWorld {
  readonly time: VirtualTime = createVirtualTime(Date.UTC(2030, 0, 1))
  readonly startMs = this.time.nowMs()
  readonly store: SimulatedStore
  readonly queues: Queues
  /** How late each lock ended that nobody settled. */
  readonly lateMs: number[] = []
  /** When the schedules' occurrences were pushed. */
  readonly pushedMs: number[] = []
  /** Of Wake. */
  readonly runs: { readonly fromMs: number; toMs: number; left: boolean }[] = []
  requests = 0
  awakeMost = 0
  #awake = 0
  readonly #random: Random
  readonly #options: WorldOptions

  constructor(options: WorldOptions = {}) {
    this.#options = options
    this.#random = seeded(options.seed ?? 1)
    const { behindMs = 0 } = options
    this.store = new SimulatedStore({
      tableName: TABLE,
      nowMs: () => this.time.nowMs(),
      ...(behindMs > 0 && {
        staleMsMax: behindMs,
        staleness: ({ index }: { index: string | undefined }) => (index === undefined ? 0 : 1),
      }),
      onChange: (change) => this.#changed(change),
    })
    this.queues = this.engine()
  }

  /** A process; `alive` says whether it still is. */
  engine(alive: () => boolean = () => true): Queues {
    const client = createSimulatedClient(this.store, {
      deliver: async (_request, apply) => {
        if (!alive()) return new Promise(() => {})
        this.requests += 1
        await this.time.sleep(REQUEST_MS)
        if (!alive()) return new Promise(() => {})
        return apply()
      },
    })
    return createQueues({
      tableName: TABLE,
      bucketName: 'simulated',
      dynamodb: client.dynamodb as never,
      s3: client.s3 as never,
      clock: { nowMs: () => this.nowMs(), sleep: (ms) => this.time.sleep(ms) },
      random: this.#random,
    })
  }

  /** Clocks show whole milliseconds. */
  nowMs(): number {
    return Math.floor(this.time.nowMs())
  }

  /** The sweeps of so many minutes, the first in a moment. */
  sweepFor(minutes: number): void {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.at(minute * MINUTE_MS + 10, async () => {
        await this.engine().returnExpiredLocks({ onNext: (dueMs) => this.#call(dueMs) })
      })
    }
  }

  at(ms: number, work: () => Promise<unknown>): void {
    void this.time.sleep(this.startMs + ms - this.time.nowMs()).then(work)
  }

  async runFor(ms: number): Promise<void> {
    await this.time.run(this.startMs + ms)
  }

  #changed({ pk, oldItem, newItem }: Change): void {
    const [before, after] = [oldItem as Stored | undefined, newItem as Stored | undefined]
    const isSchedule = pk.startsWith('schedules#')
    if (!isSchedule && !pk.startsWith('q#')) return
    if (isSchedule && after?.last !== before?.last) this.pushedMs.push(this.time.nowMs())
    for (const [lockId, { x }] of Object.entries(before?.K ?? {})) {
      const isOver = x > 0 && x <= this.time.nowMs()
      if (isOver && after?.K?.[lockId] === undefined) this.lateMs.push(this.time.nowMs() - x)
    }
    const { wk, checkAt = 0 } = after ?? {}
    if (wk === undefined || before?.wk !== undefined) return
    // The stream, a batch of a second, Housekeep.
    const afterMs = 200 + 1_300 * this.#random()
    if (this.#options.hears !== false) void this.time.sleep(afterMs).then(() => this.#call(checkAt))
  }

  #call(untilMs: number): void {
    if (this.#options.wakes === false) return
    const afterMs = 50 + 600 * this.#random()
    void this.time.sleep(afterMs).then(() => this.#wake(untilMs))
  }

  async #wake(untilMs: number): Promise<void> {
    const run = { fromMs: this.nowMs(), toMs: Number.POSITIVE_INFINITY, left: false }
    const number = this.runs.push(run) - 1
    const diesAfterMs = this.#options.dies?.(number)
    const diesAtMs = run.fromMs + (diesAfterMs ?? Number.POSITIVE_INFINITY)
    const isAlive = (): boolean => this.time.nowMs() < diesAtMs
    this.#awake += 1
    this.awakeMost = Math.max(this.awakeMost, this.#awake)
    const end = (): void => {
      run.toMs = Math.min(run.toMs, this.nowMs())
    }
    if (diesAfterMs !== undefined) {
      void this.time.sleep(diesAfterMs).then(() => {
        if (run.toMs === Number.POSITIVE_INFINITY) this.#awake -= 1
        end()
      })
    }
    const { left } = await this.engine(isAlive).wake({
      untilMs,
      deadlineMs: run.fromMs + RUN_MS,
    })
    run.left = left
    this.#awake -= 1
    end()
  }
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}
