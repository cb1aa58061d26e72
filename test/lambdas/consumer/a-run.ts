// One run on the real engine and the simulated store, in time that passes only when all wait.

import '../../support/engine-loaded.ts'
import type { Clock, DocumentPort } from '../../../aws/dynamo.ts'
import { createQueues, type Queues, type QueuesOptions } from '../../../engine/queues.ts'
import {
  type Edge,
  type Engine,
  late,
  runQueue,
  standingOf,
} from '../../../lambdas/consumer/run-queue.ts'
import { type ConsumerOptions, settingsOf } from '../../../lambdas/consumer/settings.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import { randomText } from '../../../shared/system.ts'
import { workMany } from '../../../shared/worker/many.ts'
import type { Handler, ManyTrouble } from '../../../shared/worker/run.ts'
import { type Counts, type Ending, noCounts } from '../../../shared/worker/run.ts'
import {
  lookerOf,
  type ManyOptions,
  manySettingsOf,
  type Which,
} from '../../../shared/worker/which-queues.ts'
import { seeded } from '../../../testing/random.ts'
import { createSimulatedClient } from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'
import { Scheduler } from '../../proofs/world/harness/scheduler.ts'

export const QUEUE = 'orders'
const START_MS = Date.UTC(2030, 0, 1)

export type Ended = {
  readonly ending?: Ending
  readonly error?: unknown
  readonly counts: Counts
  readonly tookMs: number
}

export type RunOptions = ConsumerOptions & {
  readonly queue?: string
  readonly timeoutMs?: number
  /** Stands in front of the engine: faults. */
  readonly through?: (engine: Engine) => Partial<Engine>
  readonly callNext?: Edge['callNext']
}

export type ManyRunOptions = ManyOptions & {
  /** Stands in front of the engine: faults. */
  readonly through?: (engine: Queues) => Partial<Queues>
}

export class Place {
  readonly #scheduler = new Scheduler(START_MS)
  readonly #store = new SimulatedStore({ nowMs: () => this.#scheduler.nowMs })
  readonly #random = seeded(1)
  /** An engine outside of any run: who pushes, looks, or competes. */
  readonly queues: Queues
  /** Verbs that runs asked of the engine, in order. */
  readonly verbs: string[] = []
  readonly logged: Record<string, unknown>[] = []
  /** Queues that the next run was called for. */
  readonly called: string[] = []

  constructor() {
    this.queues = this.#engine()
  }

  static async holding(...values: unknown[]): Promise<Place> {
    const place = new Place()
    await place.push(...values)
    return place
  }

  /** A process of its own. */
  #engine(options: Partial<QueuesOptions> = {}): Queues {
    const { dynamodb, s3 } = createSimulatedClient(this.#store)
    return createQueues({
      tableName: this.#store.tableName,
      bucketName: this.#store.bucketName,
      dynamodb: dynamodb as never,
      s3: s3 as never,
      clock: this.clock,
      random: this.#random,
      onBackgroundError: (error) => {
        throw error
      },
      ...options,
    })
  }

  engine(options: Partial<QueuesOptions> = {}): Queues {
    return this.#engine(options)
  }

  /** The store as an engine gets it. */
  get dynamodb() {
    return createSimulatedClient(this.#store).dynamodb as unknown as DocumentPort
  }

  /** What the store has been asked for. */
  get meter() {
    return this.#store.meter
  }

  readonly clock: Clock = {
    nowMs: () => Math.floor(this.#scheduler.nowMs),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        signal?.addEventListener('abort', () => resolve())
        this.#scheduler.at(this.#scheduler.nowMs + ms, 0.5, true, resolve)
      }),
  }

  /** Since the beginning. */
  get ms(): number {
    return this.#scheduler.nowMs - START_MS
  }

  /** Into another queue. */
  async pushTo(queue: string, ...values: unknown[]): Promise<void> {
    const items = values.map((value) => ({ text: JSON.stringify(value) }))
    await this.in(this.queues.push(queue, { items }))
  }

  async push(...values: unknown[]): Promise<readonly string[]> {
    const items = values.map((value) => ({ text: JSON.stringify(value) }))
    return (await this.in(this.queues.push(QUEUE, { items }))).ids
  }

  async count(queue = QUEUE): Promise<number> {
    return (await this.in(this.queues.inspect(queue, { consistent: true }))).count
  }

  /** Reasons and texts of what was dead-lettered. */
  async dead(): Promise<[text: string, reason: string | undefined][]> {
    const { items } = await this.in(this.queues.browse(`${QUEUE}-deadletter`))
    return items.map(({ text, reason }) => [text, reason])
  }

  /** Lets virtual time pass for a promise until it is settled. */
  async in<T>(promise: Promise<T>): Promise<T> {
    let settled = false
    promise.then(
      () => {
        settled = true
      },
      () => {
        settled = true
      },
    )
    const how = await this.#scheduler.run(() => settled, 1_000_000)
    if (how === 'idle') await new Promise((resolve) => setImmediate(resolve))
    if (!settled && how !== 'done') throw new Error(`It waits for ever: ${how}`)
    return promise
  }

  async pass(ms: number): Promise<void> {
    await this.in(this.clock.sleep(ms))
  }

  /** Runs to its end. */
  run<T>(handler: Handler<T>, options: RunOptions = {}): Promise<Ended> {
    return this.in(this.start(handler, options))
  }

  start<T>(handler: Handler<T>, options: RunOptions = {}): Promise<Ended> {
    const { queue = QUEUE, timeoutMs = 60_000, through, callNext, ...ofConsumer } = options
    const counts = noCounts()
    const beganMs = this.ms
    const engine = this.#engine()
    const edge: Edge = {
      queues: this.#listed({ ...engine, ...through?.(engine) }),
      clock: this.clock,
      random: this.#random,
      log: createLog({
        level: 'debug',
        service: 'test',
        write: (line) => this.logged.push(JSON.parse(line)),
      }),
      callNext: async (name) => {
        this.verbs.push('callNext')
        this.called.push(name)
        await callNext?.(name)
      },
    }
    const settings = settingsOf(ofConsumer, {})
    const remainingMs = () => timeoutMs - (this.ms - beganMs)
    const request = { queue, settings, handler: handler as Handler, counts, remainingMs }
    return runQueue(request, edge).then(
      (ending) => ({ ending, counts, tookMs: this.ms - beganMs }),
      (error: unknown) => ({ error, counts, tookMs: this.ms - beganMs }),
    )
  }

  /** Works many queues until `stop`. */
  many<T>(which: Which, handler: Handler<T>, options: ManyRunOptions = {}) {
    const engine = this.#engine()
    const queues = { ...engine, ...options.through?.(engine) }
    const stop = new AbortController()
    const graceOver = new AbortController()
    const troubles: ManyTrouble[] = []
    const edge = {
      queues: this.#listed(queues),
      clock: this.clock,
      random: this.#random,
      newKey: () => randomText(this.#random, 22),
      late,
      report: (trouble: ManyTrouble) => void troubles.push(trouble),
      look: lookerOf(async (request) => {
        this.verbs.push('list')
        const { queues: found, ...page } = await queues.list({ ...request, detail: true })
        return { queues: found.map(standingOf), ...page }
      }, which),
    }
    const settings = manySettingsOf(options)
    const signals = {
      stop: stop.signal,
      graceOver: graceOver.signal,
      halt: () => stop.abort(),
    }
    const ended = workMany(settings, handler as Handler, edge, signals)
    // Whoever waits for it gets the error.
    ended.catch(() => {})
    return { stop: () => stop.abort(), endGrace: () => graceOver.abort(), ended, troubles }
  }

  #listed(engine: Engine): Engine {
    const verbs = ['pop', 'acknowledge', 'extend', 'release', 'deadLetter', 'browse'] as const
    const listed = verbs.map((verb) => [
      verb,
      (...args: unknown[]) => {
        this.verbs.push(verb)
        return (engine[verb] as (...given: unknown[]) => Promise<unknown>)(...args)
      },
    ])
    return Object.fromEntries(listed) as Engine
  }
}
