// A queue, its producers and its consumers in virtual time: one seed decides when everything happens.
// Runs are as Lambda has them: an environment handles one event at a time and keeps its engine, an
// event waits for a free one, a process is killed at the end of its time or whenever it pleases, and
// what failed is repeated. Events come late and twice, never not at all.

import { noCounts } from '../../../lambdas/consumer/core/run.ts'
import type { Settings } from '../../../lambdas/consumer/core/settings.ts'
import { runQueue } from '../../../lambdas/consumer/run-queue.ts'
import { decodeItem } from '../../../lambdas/engine/core/entry.ts'
import { isLive, type QueueRecord, type Stretch } from '../../../lambdas/engine/core/record.ts'
import { isReminded } from '../../../lambdas/engine/core/reminder.ts'
import { isOvertaken, isRetry } from '../../../lambdas/engine/core/retry.ts'
import { decodeRecord, type StoredRecord } from '../../../lambdas/engine/core/stored-record.ts'
import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import { deadLetterQueueOf } from '../../../lambdas/foundation/queue-id.ts'
import { createLog } from '../../../lambdas/runtime/log.ts'
import type { Random } from '../../../testing/random.ts'
import { announcementsOf } from '../../../testing/simulated/announcements.ts'
import type { Change } from '../../../testing/simulated/dynamodb/database.ts'
import { requestTimeout, throttling } from '../../../testing/simulated/faults.ts'
import { createSimulatedClient, type Network } from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { Scheduler } from '../world/harness/scheduler.ts'
import type { Ledger } from './ledger.ts'

export const QUEUE = 'orders'
const START_MS = 1_790_000_000_000
const LATENCY_MS = 20

export type Odds = {
  /** Odds that a request is throttled; and that its answer is lost, after it was carried out or not. */
  readonly throttled: number
  readonly lost: number
  /** Odds that a run is killed at some moment. */
  readonly killed: number
  /** Odds that an event is delivered twice. */
  readonly repeated: number
  /** Odds that putting `Run Continued` is refused. */
  readonly notPut: number
  /** Odds that an event is never delivered. */
  readonly dropped: number
}

type Life = { dead: boolean }
type Call = { readonly failures: number }
type Environment = { busy: boolean; life: Life; engine: Queues }

export class World {
  readonly scheduler = new Scheduler(START_MS)
  readonly store: SimulatedStore
  /** What happened, to read when you replay a seed. */
  readonly history: string[] = []
  readonly #random: Random
  readonly #odds: Odds
  readonly #settings: Settings
  readonly #timeoutMs: number
  readonly #ledger: Ledger
  readonly #environments: Environment[] = []
  readonly #environmentsMax: number
  readonly #waiting: Call[] = []
  #running = 0
  #underWay = 0
  /** Nothing is called before: the consumer is not deployed yet. */
  deployedMs = 0
  /** How often the sweeper announced the queue again because no consumer came. */
  reminders = 0
  /** How often items were put off. */
  retries = 0

  constructor(options: {
    readonly random: Random
    readonly odds: Odds
    readonly settings: Settings
    readonly timeoutMs: number
    readonly environmentsMax: number
    readonly ledger: Ledger
  }) {
    this.#random = options.random
    this.#odds = options.odds
    this.#settings = options.settings
    this.#timeoutMs = options.timeoutMs
    this.#environmentsMax = options.environmentsMax
    this.#ledger = options.ledger
    this.store = new SimulatedStore({
      nowMs: () => this.scheduler.nowMs,
      onChange: (change) => this.#stream(change),
    })
  }

  /** No run is at work, and none is on its way. */
  get isQuiet(): boolean {
    return this.#running === 0 && this.#waiting.length === 0 && this.#underWay === 0
  }

  /** An engine in a process of its own, which may die. */
  engine(life: Life = { dead: false }, faults = false, events = true): Queues {
    const network: Network = {
      deliver: (_, apply) => this.#deliver(life, faults, apply),
    }
    const { dynamodb, s3 } = createSimulatedClient(this.store, network)
    return createQueues({
      tableName: this.store.tableName,
      bucketName: this.store.bucketName,
      dynamodb: dynamodb as never,
      s3: s3 as never,
      clock: this.#clock(life),
      random: () => this.#random.next(),
      events,
      onBackgroundError: () => {},
    })
  }

  note(text: string): void {
    this.history.push(`${((this.scheduler.nowMs - START_MS) / 1000).toFixed(3)} ${text}`)
  }

  #isLocked(): boolean {
    const stored = this.store.item(`q#${QUEUE}`, 'queue')
    if (stored === undefined) return false
    const { locks } = decodeRecord(stored as unknown as StoredRecord)
    // An item that waits for its retry while others pass by it is no sign of a consumer that would take those.
    return [...locks].some(([id, lock]) => !isOvertaken(id) && isLive(lock, this.scheduler.nowMs))
  }

  #clock(life: Life) {
    return {
      nowMs: () => Math.floor(this.scheduler.nowMs),
      sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve()
          const wake = () => {
            if (!life.dead) resolve()
          }
          signal?.addEventListener('abort', wake)
          this.scheduler.at(this.scheduler.nowMs + ms, this.#random.next(), true, wake)
        }),
    }
  }

  #deliver<T>(life: Life, faults: boolean, apply: () => T): Promise<T> {
    const { scheduler } = this
    const random = this.#random
    if (life.dead) return new Promise(() => {})
    const there = random.next() * LATENCY_MS
    const back = random.next() * LATENCY_MS
    const throttled = faults && random.chance(this.#odds.throttled)
    const lost = faults && !throttled && random.chance(this.#odds.lost)
    const arrives = !throttled && !(lost && random.chance(0.5))
    return new Promise((resolve, reject) => {
      const answer = (atMs: number, tell: () => void) =>
        scheduler.at(atMs, random.next(), true, () => {
          if (!life.dead) tell()
        })
      scheduler.at(scheduler.nowMs + there, random.next(), false, () => {
        // A request that a dead process had sent may arrive or not.
        if (life.dead && random.chance(0.3)) return
        let outcome: () => void = () => {}
        if (arrives) {
          try {
            const output = apply()
            outcome = () => resolve(output)
          } catch (error) {
            outcome = () => reject(error)
          }
        }
        if (throttled) answer(scheduler.nowMs + back, () => reject(throttling()))
        else if (lost) answer(scheduler.nowMs + 3_000, () => reject(requestTimeout()))
        else answer(scheduler.nowMs + back, outcome)
      })
    })
  }

  /** The table's stream, its filter, and the function behind it. */
  #stream(change: Change): void {
    const { pk, oldItem, newItem } = change
    if (newItem === undefined) return
    // The items are so few that all of them are in the record.
    if (pk === `q#${deadLetterQueueOf(QUEUE)}`) {
      const { lanes } = decodeRecord(newItem as unknown as StoredRecord)
      for (const { tail } of lanes.values()) this.#bury(tail)
    }
    if (pk !== `q#${QUEUE}`) return
    const before = oldItem && decodeRecord(oldItem as unknown as StoredRecord)
    const after = decodeRecord(newItem as unknown as StoredRecord)
    for (const id of after.locks.keys())
      if (isRetry(id) && !before?.locks.has(id)) this.retries += 1
    // A run that works on purged items has lost its lock.
    const purged = after.ended.flatMap(({ lockId, ending }) =>
      ending === 'purged' ? (before?.locks.get(lockId) ?? []) : [],
    )
    if (before !== undefined && purged.length > 0) {
      this.#ledger.locksPurged(purged.flatMap(({ stretches }) => numbersOf(before, stretches)))
    }
    // An item dies when its lock ends, also where the consumer never heard of the lock.
    for (const { tail, sealed, dead } of after.lanes.values()) {
      this.#bury(dead.flatMap(({ from, to }) => tail.slice(from - sealed, to - sealed)))
    }
    const kinds = announcementsOf(change).map(({ kind }) => kind)
    if (!kinds.includes('items-available')) return
    const isReminder = before !== undefined && isReminded(before, after)
    // Behind a retry that keeps the others back a reminder is for nothing: its end is the event.
    const isBlocked = [...after.locks.keys()].some((id) => isRetry(id) && !isOvertaken(id))
    if (isReminder && !isBlocked) this.reminders += 1
    this.note(isReminder ? 'Items Available, again' : 'Items Available')
    if (this.#random.chance(this.#odds.dropped)) this.note('the event is dropped')
    else this.#event({ failures: 0 })
  }

  #bury(entries: readonly string[]): void {
    for (const entry of entries) this.#ledger.mayBeGone.add(Number(decodeItem(entry).text))
  }

  #event(call: Call): void {
    const random = this.#random
    const times = random.chance(this.#odds.repeated) ? 2 : 1
    for (let i = 0; i < times; i += 1) {
      const late = random.chance(0.2) ? 3_000 : 200
      this.#underWay += 1
      this.scheduler.at(this.scheduler.nowMs + random.next() * late, random.next(), true, () => {
        this.#underWay -= 1
        if (this.scheduler.nowMs < this.deployedMs) return
        this.#waiting.push(call)
        this.#next()
      })
    }
  }

  #next(): void {
    let free = this.#environments.find(({ busy }) => !busy)
    if (free === undefined && this.#environments.length < this.#environmentsMax) {
      const life = { dead: false }
      free = { busy: false, life, engine: this.engine(life, true) }
      this.#environments.push(free)
    }
    const call = free && this.#waiting.shift()
    if (free === undefined || call === undefined) return
    this.#run(free, call)
    this.#next()
  }

  #run(environment: Environment, call: Call): void {
    const { scheduler } = this
    const random = this.#random
    const { life, engine } = environment
    const name = `run ${this.#ledger.newRun()}`
    const clock = this.#clock(life)
    const endMs = scheduler.nowMs + this.#timeoutMs
    environment.busy = true
    this.#running += 1
    this.note(`${name} begins`)
    let ended = false
    const end = (how: string): boolean => {
      if (ended) return false
      ended = true
      this.note(`${name} ends: ${how}`)
      this.#running -= 1
      environment.busy = false
      scheduler.at(scheduler.nowMs, random.next(), true, () => this.#next())
      return true
    }
    // As Lambda repeats asynchronous calls.
    const repeat = (): void => {
      if (call.failures < 2) this.#event({ failures: call.failures + 1 })
      else this.#ledger.gaveUp()
    }
    const kill = (how: string): void => {
      if (!end(how)) return
      life.dead = true
      this.#ledger.died(name)
      this.#environments.splice(this.#environments.indexOf(environment), 1)
      // Lambda would repeat this as well. We repeat it only if no lock is left once all requests have
      // landed: a lock means that a run is at work, or that the end of the lock will be an event.
      this.#underWay += 1
      scheduler.at(scheduler.nowMs + 10 * LATENCY_MS, random.next(), true, () => {
        this.#underWay -= 1
        if (!this.#isLocked()) repeat()
      })
    }
    scheduler.at(endMs, 1, true, () => kill('its time is over'))
    if (random.chance(this.#odds.killed)) {
      const atMs = scheduler.nowMs + random.next() ** 2 * this.#timeoutMs
      scheduler.at(atMs, random.next(), true, () => kill('killed'))
    }
    const counts = noCounts()
    runQueue(
      {
        queue: QUEUE,
        settings: this.#settings,
        counts,
        remainingMs: () => endMs - scheduler.nowMs,
        handler: (items) => this.#ledger.handle(name, items, (ms) => clock.sleep(ms)),
      },
      {
        queues: {
          ...engine,
          pop: async (queue, request) => {
            const popped = await engine.pop(queue, request)
            if (popped.kind === 'items') this.#ledger.delivered(popped.items)
            return popped
          },
        },
        clock,
        random: () => random.next(),
        log: createLog({
          level: 'warn',
          service: 'sim',
          write: (line) => this.note(`${name}: ${line.slice(0, 200)}`),
        }),
        callNext: async () => {
          await clock.sleep(random.next() * LATENCY_MS)
          if (random.chance(this.#odds.notPut)) throw new Error('Cannot put the event')
          this.note(`${name} calls the next`)
          this.#event({ failures: 0 })
          await clock.sleep(random.next() * LATENCY_MS)
        },
      },
    ).then(
      (ending) => end(ending),
      (error: unknown) => {
        if (end(`failed: ${error}`)) repeat()
      },
    )
  }
}

/** The items are so few that all of them are in the record. */
const numbersOf = ({ lanes }: QueueRecord, stretches: readonly Stretch[]): number[] =>
  stretches.flatMap(({ priority, from, to }) => {
    const { tail = [], sealed = 0 } = lanes.get(priority) ?? {}
    return tail.slice(from - sealed, to - sealed).map((entry) => Number(decodeItem(entry).text))
  })
