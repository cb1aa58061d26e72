import { decodeItem } from '../../../lambdas/engine/core/entry.ts'
import { numbersOf } from '../../../lambdas/engine/core/ranges.ts'
import { type QueueRecord, stretchesOf, unsettledIn } from '../../../lambdas/engine/core/record.ts'
import { definitionOf } from '../../../lambdas/engine/core/schedule.ts'
// Loaded before the time begins: what is loaded later would come at some real time.
import 'croner'
import '../../support/engine-loaded.ts'
import { createEngine } from '../../../lambdas/engine/create-engine.ts'
import { type Engine, readRecord } from '../../../lambdas/engine/operations/attempts/engine.ts'
import { timesOf } from '../../../lambdas/engine/operations/scheduling/times-of.ts'
import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import type { Random } from '../../../testing/random.ts'
import {
  createSimulatedClient,
  type Network,
  perfectNetwork,
} from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { createVirtualTime } from '../../../testing/simulated/virtual-time.ts'
import { faultyNetwork } from '../inbox-simulation/faulty-network.ts'
import type { Account } from './ledger.ts'
import { harsh } from './network.ts'
import {
  CALM_FROM_MS,
  END_MS,
  type Plan,
  type Planned,
  START_MS,
  TOUCHED_UNTIL_MS,
  textOf,
} from './plan.ts'

const NAMES = { tableName: 'simulated', bucketName: 'simulated' }
const MINUTE_MS = 60_000
const SKEW_MS = 5_000
const LOOK_MS = 20_000
const READ_BYTES = 64 * 1024 * 1024

export class World {
  readonly accounts: Account[] = []
  readonly violations: string[] = []
  readonly history: string[] = []
  deaths = 0
  readonly #plan: Plan
  readonly #random: Random
  readonly #time = createVirtualTime(START_MS)
  readonly #store: SimulatedStore
  readonly #well: Queues
  readonly #looker: Engine
  /** Ids of what was found already. */
  readonly #seen = new Set<string>()

  constructor(plan: Plan, random: Random) {
    this.#plan = plan
    this.#random = random
    this.#store = new SimulatedStore({ ...NAMES, nowMs: () => this.#nowMs() })
    const options = this.#optionsOf(perfectNetwork, 0)
    this.#well = createQueues(options)
    this.#looker = createEngine(options)
  }

  #nowMs(): number {
    return Math.floor(this.#time.nowMs())
  }

  #optionsOf(network: Network, skewMs: number) {
    const { dynamodb, s3 } = createSimulatedClient(this.#store, network)
    const random = this.#random.fork()
    let offMs = skewMs
    const clock = {
      nowMs: () => {
        // Set anew now and then, so that it also runs backwards.
        if (skewMs > 0 && random.chance(0.02)) offMs = random.between(-SKEW_MS, SKEW_MS)
        return this.#nowMs() + offMs
      },
      sleep: (ms: number) => this.#time.sleep(ms),
    }
    return {
      ...NAMES,
      clock,
      random: () => random.next(),
      onBackgroundError() {},
      dynamodb: dynamodb as never,
      s3: s3 as never,
    }
  }

  async run(): Promise<void> {
    const work = [
      ...Array.from({ length: this.#plan.sweepers }, (_, n) => this.#sweep(n)),
      this.#consume(),
      this.#makeRoom(),
      this.#prepare().then(() => Promise.all(this.accounts.map((it) => this.#touch(it)))),
    ]
    let left = work.length
    for (const one of work) {
      one.then(
        () => {
          left -= 1
        },
        (error: unknown) => this.violations.push(String((error as Error).stack)),
      )
    }
    await this.#time.run(END_MS)
    if (left > 0) this.violations.push(`${left} of ${work.length} have not ended`)
  }

  async #prepare(): Promise<void> {
    for (const [queue, capacity] of this.#plan.capacities) {
      await this.#well.configure(queue, { capacity })
    }
    for (const planned of this.#plan.schedules) await this.#put(planned)
  }

  /** At last, so that nothing waits any more. */
  async #makeRoom(): Promise<void> {
    await this.#time.sleep(CALM_FROM_MS - START_MS)
    for (const queue of this.#plan.capacities.keys()) await this.#well.unconfigure(queue)
  }

  async #put(planned: Planned): Promise<void> {
    const { queue, name, input } = planned
    const putMs = this.#nowMs()
    await this.#well.putSchedule(queue, name, input)
    this.accounts.push({
      ...planned,
      putMs,
      found: [],
      texts: new Set([input.text]),
      paused: [],
      runs: { made: 0, unknown: 0 },
      deletedMs: undefined,
    })
  }

  /** All times at which it should have been due. */
  async duesOf({ input, putMs }: Account): Promise<readonly number[]> {
    const times = await timesOf(definitionOf(input, undefined, putMs))
    const dues: number[] = []
    let next = times.from(putMs + 1)
    while (next !== undefined) {
      dues.push(next)
      next = times.from(next + 1)
    }
    return dues
  }

  /** One process after the other, each until it dies; the last hour is calm, so that what is late comes. */
  async #sweep(number: number): Promise<void> {
    const random = this.#random.fork()
    let queues: Queues | undefined
    let died = (): void => {}
    while (this.#nowMs() < END_MS - MINUTE_MS) {
      await this.#time.sleep(random.between(20_000, MINUTE_MS))
      if (this.#isOut()) continue
      const isCalm = this.#nowMs() > CALM_FROM_MS
      if (isCalm) queues = undefined
      queues ??= this.#sweeper(random, isCalm, () => died())
      const death = new Promise<'died'>((resolve) => {
        died = () => resolve('died')
      })
      const swept = queues
        .returnExpiredLocks({ deadlineMs: this.#nowMs() + 50_000 })
        .catch((error: unknown) => {
          if (!(error instanceof QueueError)) throw error
          return undefined
        })
      const outcome = await Promise.race([swept, death, this.#time.sleep(MINUTE_MS)])
      if (outcome === 'died') {
        this.deaths += 1
        queues = undefined
      } else if (outcome !== undefined && outcome.occurrencesPushed > 0) {
        this.#note(`sweeper ${number} pushed ${outcome.occurrencesPushed}`)
      }
    }
  }

  #isOut(): boolean {
    const nowMs = this.#nowMs()
    return this.#plan.outages.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
  }

  #sweeper(random: Random, isCalm: boolean, onDeath: () => void): Queues {
    if (isCalm) return createQueues(this.#optionsOf(perfectNetwork, 0))
    const { faults, dies, stale } = this.#plan
    const faulty = faultyNetwork({
      time: this.#time,
      random: () => random.next(),
      faults,
      isThrottled: () => false,
      diesAt: random.chance(dies) ? random.between(1, 60) : 0,
      onDeath,
    })
    const [store, time] = [this.#store, this.#time]
    const network = harsh(faulty, { store, time, random, stale })
    return createQueues(this.#optionsOf(network, random.between(1, SKEW_MS)))
  }

  /** What callers do to a schedule, over a network that loses answers. */
  async #touch(account: Account): Promise<void> {
    const random = this.#random.fork()
    const { queue, name, input, touch } = account
    if (touch === 'nothing') return
    for (let times = random.between(1, 4); times > 0; times -= 1) {
      if (this.#nowMs() > TOUCHED_UNTIL_MS) return
      await this.#time.sleep(random.between(1, 60) * MINUTE_MS)
      if (touch === 'puts') {
        const text = random.chance(0.3) ? input.text : textOf(random, name, times)
        account.texts.add(text)
        await this.#ask((queues) => queues.putSchedule(queue, name, { ...input, text }))
      } else if (touch === 'runs') {
        const ran = await this.#ask((queues) => queues.runSchedule(queue, name))
        if (ran !== 'refused') account.runs[ran] += 1
      } else if (touch === 'pauses') {
        const fromMs = this.#nowMs()
        await this.#ask((queues) => queues.pauseSchedule(queue, name))
        await this.#time.sleep(random.between(10, 40 * 60) * 1_000)
        while ((await this.#ask((queues) => queues.resumeSchedule(queue, name))) !== 'made') {}
        account.paused.push({ fromMs, toMs: this.#nowMs() })
      } else {
        account.deletedMs ??= this.#nowMs()
        await this.#ask((queues) => queues.deleteSchedule(queue, name))
      }
    }
  }

  async #ask(call: (queues: Queues) => Promise<unknown>): Promise<'made' | 'unknown' | 'refused'> {
    const queues = createQueues(this.#optionsOf(this.#lossy(), 0))
    try {
      await call(queues)
      return 'made'
    } catch (error) {
      if (!(error instanceof QueueError)) throw error
      return error.outcome === 'unknown' ? 'unknown' : 'refused'
    }
  }

  #lossy(): Network {
    const random = this.#random.fork()
    const { faults } = this.#plan
    return faultyNetwork({
      time: this.#time,
      random: () => random.next(),
      faults,
      isThrottled: () => false,
      diesAt: 0,
      onDeath() {},
    })
  }

  /** Looks at what is there, and takes it. */
  async #consume(): Promise<void> {
    const queues = [...new Set(this.#plan.schedules.map(({ queue }) => queue))]
    while (this.#nowMs() < END_MS - LOOK_MS) {
      await this.#time.sleep(LOOK_MS)
      for (const queue of queues) await this.#take(queue)
    }
  }

  /** What is acknowledged was locked before the look: nothing goes unseen that came meanwhile. */
  async #take(queue: string): Promise<void> {
    // Now and then only, so that queues with little room are full for a while.
    const takes = this.#random.chance(0.5)
    const popped = takes
      ? await this.#well.pop(queue, { count: 100, requireAck: true, ttlSeconds: 300 })
      : undefined
    await this.#look(queue)
    if (popped?.kind !== 'items' || popped.lock === undefined) return
    await this.#well.acknowledge(queue, { lockId: popped.lock.id })
  }

  async #look(queue: string): Promise<void> {
    const record = await readRecord(this.#looker, queue)
    for (const [priority, lane] of record?.lanes ?? []) {
      const ranges = unsettledIn(lane)
      const stretches = stretchesOf(priority, ranges)
      const read = await this.#looker.items.read(record as QueueRecord, stretches, READ_BYTES)
      if (read.kind === 'missing') continue
      const numbers = [...numbersOf(ranges)]
      for (const [index, entry] of read.entries.entries()) {
        const sequence = numbers[index] as number
        const id = `${queue}/${lane.epoch}/${priority}/${sequence}`
        if (this.#seen.has(id)) continue
        this.#seen.add(id)
        this.#found(queue, entry, sequence)
      }
    }
  }

  #found(queue: string, entry: string, sequence: number): void {
    const { text, pushedAtMs, dueMs } = decodeItem(entry)
    const { name } = JSON.parse(text) as { readonly name: string }
    const account = this.accounts.find((one) => one.queue === queue && one.name === name)
    if (account === undefined) {
      this.violations.push(`${queue} holds an item that no schedule pushed: ${text}`)
      return
    }
    this.#note(`${queue}/${name} #${sequence} due ${dueMs === undefined ? 'by hand' : iso(dueMs)}`)
    account.found.push({ dueMs, pushedAtMs, text })
  }

  #note(line: string): void {
    this.history.push(`${iso(this.#nowMs())} ${line}`)
  }
}

const iso = (ms: number): string => new Date(ms).toISOString().slice(11, 19)
