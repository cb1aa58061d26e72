// How many pushes one queue takes: from several producers on this machine, beside other algorithms, and on simulated time.

import {
  bareUpdate,
  createBareItem,
  createMessageQueue,
  createMessageTable,
  createSourcesQueue,
} from '../baselines/algorithms.ts'
import type { Bench, Scenario, Store } from '../bench.ts'
import { openFixture, openQueues, unlessBusy } from '../fixture.ts'
import { createItems, type ItemGenerator, joinResults, type LoadResult, runLoad } from '../load.ts'
import { difference, type Reading, sum, type Tally, total } from '../meter.ts'
import { DYNAMODB_LATENCY_MS } from '../metered-stores.ts'
import { atLeast, atMost, type Row, rowsOf } from '../report.ts'
import {
  type SimulatedResult,
  simulateProducers,
  oneItemsThrottle as throttle,
} from '../simulated-producers.ts'

const BYTES = 200
const PRODUCERS = [1, 8, 32] as const
const TURNS = 3
type Producers = (typeof PRODUCERS)[number]

type Algorithm = 'bare' | 'pushpop' | 'sources' | 'message'

type Contestant = {
  readonly algorithm: Algorithm
  readonly label: string
  /** Gives each producer its push. */
  prepare(bench: Bench, producers: number): Promise<Prepared>
}
type Push = (text: string) => Promise<unknown>
type Prepared = {
  readonly store: Store
  readonly pushes: readonly Push[]
  finish?(): Promise<void>
}

type Measured = LoadResult & {
  readonly reading: Reading
  readonly tally: Tally
  readonly lateMs: number
}

/**
 * 1, 8 and 32 producers push to one queue as fast as they can. All run in this process: they share
 * the machine, but no memory of the queue. How late its waits end shows whether the
 * process keeps up; where that is more than a millisecond, the machine is the limit.
 */
export const hotQueue: Scenario = {
  name: 'hot-queue',
  title: 'hot queue',
  async run(bench) {
    const results = new Map<string, Measured>()
    const rows: Row[] = []
    const { info } = rowsOf(this.title)
    for (const producers of PRODUCERS) {
      for (const [contestant, measured] of await compete(bench, producers)) {
        const { algorithm, label } = contestant
        results.set(`${algorithm} ${producers}`, measured)
        rows.push(info(`${producers}: ${label}, pushes/s`, measured.perSecond))
      }
    }
    const get = (algorithm: Algorithm, producers: Producers) =>
      results.get(`${algorithm} ${producers}`) as Measured
    return [
      ...barRows(this.title, get),
      ...rows,
      ...detailRows(this.title, get),
      ...(await simulatedRows(bench, this.title)),
    ]
  },
}

/** They take turns, so that other work on the machine slows all of them alike. */
async function compete(bench: Bench, producers: number): Promise<Map<Contestant, Measured>> {
  const runs = new Map<Contestant, Run>()
  for (const contestant of contestants) {
    runs.set(contestant, await startRun(bench, contestant, producers))
  }
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const [{ label }, run] of runs) {
      bench.progress(`${producers} producers, turn ${turn} of ${TURNS}: ${label}`)
      await run.turn()
    }
  }
  const measured = new Map<Contestant, Measured>()
  for (const [contestant, run] of runs) {
    const result = await run.finish()
    const heading = `hot queue: ${contestant.label}, ${producers} producers`
    bench.explain(heading, result.reading, result.done)
    measured.set(contestant, result)
  }
  return measured
}

type Get = (algorithm: Algorithm, producers: Producers) => Measured

function barRows(title: string, get: Get): Row[] {
  const { bar, info } = rowsOf(title)
  const toBare = (n: Producers) => get('pushpop', n).perSecond / get('bare', n).perSecond
  const ours = get('pushpop', 8)
  return [
    // The bars for these are on simulated time, because here we would measure the embedded store's own work.
    info('8: share of bare UpdateItem', toBare(8)),
    bar('8: failed writes a push', ours.tally.failedWrites / ours.done, atMost(0.15)),
    bar(
      '32: times the sources',
      get('pushpop', 32).perSecond / get('sources', 32).perSecond,
      atLeast(15),
    ),
    info('32: share of bare UpdateItem', toBare(32)),
  ]
}

function detailRows(title: string, get: Get): Row[] {
  const { info } = rowsOf(title)
  return PRODUCERS.flatMap((n) => {
    const ours = get('pushpop', n)
    return [
      info(`${n}: p50 of a push, ms`, ours.medianMs),
      info(`${n}: p99 of a push, ms`, ours.p99Ms),
      info(`${n}: WRU a push`, ours.tally.writeUnits / ours.done),
      info(`${n}: failed writes a push`, ours.tally.failedWrites / ours.done),
      info(`${n}: told to come back, share of pushes`, ours.gaveWay / Math.max(1, ours.done)),
      info(`${n}: waits end late by, ms`, ours.lateMs),
      info(`${n}: bare, waits end late by, ms`, get('bare', n).lateMs),
    ]
  })
}

type Run = { turn(): Promise<void>; finish(): Promise<Measured> }

async function startRun(bench: Bench, contestant: Contestant, producers: number): Promise<Run> {
  const { store, pushes, finish } = await contestant.prepare(bench, producers)
  const items = pushes.map((_, i) => createItems(i))
  const results: LoadResult[] = []
  const readings: Reading[] = []
  return {
    async turn() {
      let atStart: Reading = new Map()
      const result = await runLoad({
        workers: producers,
        warmUpSeconds: bench.quick ? 0.2 : 0.5,
        seconds: bench.seconds(2.4),
        step: (i) => unlessBusy(() => (pushes[i] as Push)((items[i] as ItemGenerator)(BYTES))),
        onStart() {
          atStart = store.meter.read()
        },
      })
      results.push(result)
      readings.push(difference(store.meter.read(), atStart))
      await finish?.()
    },
    async finish() {
      const reading = readings.reduce(sum)
      const lateMs = store.delay.lateness().meanMs
      return { ...joinResults(results), reading, tally: total(reading), lateMs }
    },
  }
}

/** By number of producers: the time that a push may take compared with one bare request. */
const SHARES: Readonly<Record<number, number>> = { 8: 0.85, 32: 0.5 }

/** The engine without the machine's limits, against 5 ms a request. */
async function simulatedRows(bench: Bench, title: string): Promise<Row[]> {
  const { bar, info } = rowsOf(`${title}, on simulated time`)
  const rows: Row[] = []
  for (const producers of PRODUCERS) {
    bench.progress(`${producers} producers on simulated time`)
    const seconds = bench.quick ? 3 : 10
    const result = await simulateProducers({ producers, seconds, itemBytes: BYTES })
    const { failedWrites, writeUnits } = total(result.reading)
    bench.explain(`simulated time: ${producers} producers`, result.reading, result.done)
    const bare = (producers * 1000) / DYNAMODB_LATENCY_MS
    const share = `${producers}: share of one request a push`
    const least = SHARES[producers]
    rows.push(
      least === undefined
        ? info(share, result.perSecond / bare)
        : bar(share, result.perSecond / bare, atLeast(least)),
      info(`${producers}: failed writes a push`, failedWrites / result.done),
      info(`${producers}: WRU a push`, writeUnits / result.done),
      info(`${producers}: p99 of a push, ms`, result.p99Ms),
    )
  }
  return rows
}

const contestants: readonly Contestant[] = [
  {
    algorithm: 'bare',
    label: 'bare UpdateItem',
    async prepare(bench, producers) {
      const store = bench.store()
      const name = bench.queueName('hot')
      await createBareItem(store, name)
      const push: Push = (text) => bareUpdate(store, name, text)
      return { store, pushes: Array.from({ length: producers }, () => push) }
    },
  },
  {
    algorithm: 'pushpop',
    label: 'PushPop',
    async prepare(bench, producers) {
      const { store, housekeeper } = openFixture(bench)
      const queue = bench.queueName('hot')
      const pushes = Array.from({ length: producers }, () => {
        const queues = openQueues(store)
        return (text: string) => queues.push(queue, { items: [{ text }] })
      })
      return { store, pushes, finish: () => housekeeper.idle() }
    },
  },
  {
    algorithm: 'sources',
    label: "sources' algorithm",
    async prepare(bench, producers) {
      const store = bench.store()
      const name = bench.queueName('hot')
      const pushes = Array.from({ length: producers }, () => createSourcesQueue(store, name).push)
      return { store, pushes }
    },
  },
  {
    algorithm: 'message',
    label: 'row a message',
    async prepare(bench, producers) {
      const store = bench.store()
      const table = bench.queueName('hot')
      await createMessageTable(bench.embedded.dynamodb, table)
      const pushes = Array.from(
        { length: producers },
        () => createMessageQueue(store, table).enqueue,
      )
      return { store, pushes }
    },
  },
]

const MANY_PRODUCERS = [8, 32, 64, 128]
/** More producers may cost something; the collapse that we saw in a model left a fifth of the rate. */
const NO_COLLAPSE = 0.6

/**
 * Up to 128 producers on one queue of a store that takes 1,000 write units a second for an item,
 * as a partition of DynamoDB does and the embedded store does not; on simulated time.
 */
export const throttled: Scenario = {
  name: 'throttled',
  title: 'up to 128 producers, an item throttled at 1,000 units/s (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 10
    const results: SimulatedResult[] = []
    for (const producers of MANY_PRODUCERS) {
      bench.progress(`${producers} producers`)
      const result = await simulateProducers({ producers, seconds, itemBytes: BYTES, throttle })
      bench.explain(`${producers} producers, throttled`, result.reading, result.done)
      results.push(result)
    }
    const rates = results.map(({ perSecond }) => perSecond)
    const most = rates.at(-1) as number
    const { bar } = rowsOf(this.title)
    return [
      bar('128: pushes a simulated second', most, atLeast(200), { aim: atLeast(300) }),
      bar('128: share of the best rate from 8 up', most / Math.max(...rates), atLeast(NO_COLLAPSE)),
      ...MANY_PRODUCERS.flatMap((producers, i) =>
        throttledRows(this.title, producers, results[i] as SimulatedResult),
      ),
    ]
  },
}

function throttledRows(title: string, producers: number, result: SimulatedResult) {
  const { info } = rowsOf(title)
  const { writeUnits, failedWrites, throttled: throttledRequests } = total(result.reading)
  const each = (metric: string, sum: number) => info(`${producers}: ${metric}`, sum / result.done)
  return [
    info(`${producers}: pushes a simulated second`, result.perSecond),
    info(`${producers}: p99 of a push, ms`, result.p99Ms),
    each('WRU a push', writeUnits),
    each('failed writes a push', failedWrites),
    each('throttled requests a push', throttledRequests),
    each('told to come back, share of pushes', result.gaveWay),
    each('seals given up, a push', result.backgroundErrors),
  ]
}

const ways = [
  { name: 'linger', linger: true },
  { name: 'linger of 5 ms', linger: { waitMs: 5 } },
] as const

/**
 * 32 callers in one process push to one queue, each its next item when it has its answer: each push by itself,
 * and with linger. The item is throttled as DynamoDB throttles one; on simulated time.
 */
export const linger: Scenario = {
  name: 'linger',
  title: '32 callers in one process, an item throttled at 1,000 units/s (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 10
    const simulate = (producers: number, linger: boolean | object) => {
      bench.progress(`${producers} callers, linger: ${JSON.stringify(linger)}`)
      const load = { producers, seconds, itemBytes: BYTES, throttle, oneProcess: { linger } }
      return simulateProducers(load)
    }
    const { bar, info } = rowsOf(this.title)
    const without = await simulate(32, false)
    const rows: Row[] = [...figures(info, 'each push by itself', without)]
    for (const { name, linger } of ways) {
      const lingering = await simulate(32, linger)
      bench.explain(`32 callers, ${name}`, lingering.reading, lingering.done)
      const times = lingering.perSecond / without.perSecond
      const metric = `${name}: times the items a second of each by itself`
      if (linger === true) {
        const { writeUnits } = total(lingering.reading)
        rows.unshift(
          // No more than 3,200 items a second are possible, ten times what they get by themselves.
          bar(metric, times, atLeast(9), { aim: atLeast(20) }),
          bar(`${name}: WRU an item`, writeUnits / lingering.done, atMost(0.25)),
        )
      } else rows.push(info(metric, times))
      rows.push(...figures(info, name, lingering))
    }
    // The callers above wait for two requests of 5 ms: no batching gives them more than 3,200 items a second.
    const many = await simulate(512, true)
    rows.push(...figures(info, 'linger, 512 callers', many))
    return rows
  },
}

type Info = ReturnType<typeof rowsOf>['info']

function figures(info: Info, name: string, result: SimulatedResult): Row[] {
  const { done, perSecond, p99Ms, reading } = result
  const { writeUnits, requests } = total(reading)
  return [
    info(`${name}: items a simulated second`, perSecond),
    info(`${name}: p99 of a push, ms`, p99Ms),
    info(`${name}: WRU an item, all in`, writeUnits / done),
    info(`${name}: requests an item`, requests / done),
  ]
}
