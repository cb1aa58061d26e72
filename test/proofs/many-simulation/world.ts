// The service, as processes on the network meet it, in virtual time: one seed decides when everything happens.
// Answers are slow, refused or lost, whether the call was carried out or not; the service itself is sound.

import { standingOf } from '../../../lambdas/consumer/consume-many.ts'
import type { Verbs } from '../../../lambdas/consumer/core/edge.ts'
import type { List } from '../../../lambdas/consumer/core/look.ts'
import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import type { Random } from '../../../testing/random.ts'
import { createSimulatedClient } from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { Scheduler } from '../world/harness/scheduler.ts'

const START_MS = 1_790_000_000_000
export const LATENCY_MS = 20
/** Until the sender of a lost request gives it up. */
const LOST_MS = 3_000

export const LATE_MS_MAX = 40_000

/** Probabilities for each call. */
export type Odds = {
  readonly refused: number
  readonly lost: number
  /** An answer that takes seconds, and may come after its lock has ended. */
  readonly late: number
}

export type Life = { dead: boolean }

export class World {
  readonly scheduler = new Scheduler(START_MS)
  readonly queues: Queues
  readonly history: string[] = []
  readonly #random: Random
  readonly #odds: Odds
  /** Queues on one page of the list, which in truth are a hundred. */
  readonly #pageSize: number
  /** Its record cannot be read: the list shows it only by itself. */
  #unreadable: string | undefined
  #calls = 0
  isCalm = false

  constructor(options: {
    readonly random: Random
    readonly odds: Odds
    readonly pageSize: number
    readonly unreadable: string | undefined
  }) {
    this.#random = options.random
    this.#odds = options.odds
    this.#pageSize = options.pageSize
    this.#unreadable = options.unreadable
    const store = new SimulatedStore({ nowMs: () => this.scheduler.nowMs })
    const { dynamodb, s3 } = createSimulatedClient(store, {
      deliver: (_, apply) =>
        new Promise((resolve, reject) => {
          this.#later(2 * this.#random.next(), () => {
            try {
              resolve(apply())
            } catch (error) {
              reject(error)
            }
          })
        }),
    })
    this.queues = createQueues({
      tableName: store.tableName,
      bucketName: store.bucketName,
      dynamodb: dynamodb as never,
      s3: s3 as never,
      clock: this.clock({ dead: false }),
      random: () => this.#random.next(),
      onBackgroundError: () => {},
    })
  }

  get nowMs(): number {
    return this.scheduler.nowMs
  }

  /** What all processes have asked so far. */
  get calls(): number {
    return this.#calls
  }

  /** From now on the list can read every record. */
  mend(): void {
    this.#unreadable = undefined
  }

  note(text: string): void {
    this.history.push(`${((this.nowMs - START_MS) / 1_000).toFixed(3).padStart(9)} ${text}`)
  }

  clock(life: Life) {
    return {
      nowMs: () => Math.floor(this.nowMs),
      sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve()
          const wake = () => {
            if (!life.dead) resolve()
          }
          signal?.addEventListener('abort', wake)
          this.#later(ms, wake)
        }),
    }
  }

  /** The verbs as this process gets at them. */
  verbs(life: Life, name: string): Verbs {
    const { queues } = this
    const asked =
      <A extends unknown[], T>(verb: string, call: (queue: string, ...rest: A) => Promise<T>) =>
      (queue: string, ...rest: A): Promise<T> =>
        this.#ask(life, `${name} ${verb} ${queue}`, () => call(queue, ...rest))
    return {
      browse: asked('browse', queues.browse),
      pop: asked('pop', queues.pop),
      acknowledge: asked('acknowledge', queues.acknowledge),
      extend: asked('extend', queues.extend),
      release: asked('release', queues.release),
      deadLetter: asked('deadLetter', queues.deadLetter),
    }
  }

  list(life: Life, name: string): List {
    return ({ limit, ...request }) =>
      this.#ask(life, `${name} list`, async () => {
        const size = limit && Math.min(limit, this.#pageSize)
        const page = await this.queues.list({
          ...request,
          ...(size !== undefined && { limit: size }),
          detail: true,
        })
        const isUnread = ({ queue }: { queue: string }) => queue === this.#unreadable
        if (size !== undefined && size > 1 && page.queues.some(isUnread)) {
          throw new QueueError('STORE_UNAVAILABLE', 'a broken page')
        }
        return {
          queues: page.queues.map((it) => (isUnread(it) ? { queue: it.queue } : standingOf(it))),
          cursor: page.cursor,
        }
      })
  }

  #ask<T>(life: Life, what: string, work: () => Promise<T>): Promise<T> {
    const random = this.#random
    if (life.dead) return new Promise(() => {})
    this.#calls += 1
    const fault = this.isCalm ? 'none' : this.#drawFault()
    const there = random.next() * LATENCY_MS
    const backMs = fault === 'late' ? random.next() ** 3 * LATE_MS_MAX : random.next() * LATENCY_MS
    if (fault !== 'none' || this.isCalm) this.note(`${what}: ${fault}`)
    return new Promise((resolve, reject) => {
      const tell = (ms: number, answer: () => void) =>
        this.#later(ms, () => {
          if (!life.dead) answer()
        })
      this.#later(there, () => {
        // What a dead process had sent may arrive or not.
        if (life.dead && random.chance(0.3)) return
        if (fault === 'refused') tell(backMs, () => reject(new QueueError('BUSY', 'refused')))
        else if (fault === 'lost') {
          tell(LOST_MS, () =>
            reject(new QueueError('STORE_UNAVAILABLE', 'lost', { outcome: 'unknown' })),
          )
          if (random.chance(0.7)) work().catch(() => {})
        } else {
          work().then(
            (value) => tell(backMs, () => resolve(value)),
            (error) => tell(backMs, () => reject(error)),
          )
        }
      })
    })
  }

  #drawFault(): 'none' | keyof Odds {
    const { refused, lost, late } = this.#odds
    if (this.#random.chance(refused)) return 'refused'
    if (this.#random.chance(lost)) return 'lost'
    return this.#random.chance(late) ? 'late' : 'none'
  }

  #later(ms: number, run: () => void): void {
    this.scheduler.at(this.nowMs + ms, this.#random.next(), true, run)
  }
}
