// What size costs: a million items in a queue or scheduled, many lanes. One queue of a million items, made once a run,
// serves `depth` and, at the end, `memory`, which drains it.

import { fork } from 'node:child_process'
import { join } from 'node:path'
import { Random } from '../../testing/random.ts'
import type { Bench, Scenario } from '../bench.ts'
import type { DrainReport, DrainRequest } from '../drain-child.ts'
import { fill, openFixture, openQueues } from '../fixture.ts'
import { createItems } from '../load.ts'
import { difference, each, type Reading, sum, type Tally, total } from '../meter.ts'
import { itemBytes } from '../metered-stores.ts'
import { atLeast, atMost, type Row, rowsOf } from '../report.ts'

const SHALLOW = 1000
const OPERATIONS = 500
const WARM_UP = 32

type Measured = { readonly push: Tally; readonly pop: Tally; readonly recordBytes: number }

export const depth: Scenario = {
  name: 'depth',
  title: 'depth 1,000,000 against 1,000',
  async run(bench) {
    const shallowQueue = bench.queueName('shallow')
    await fill(bench, shallowQueue, { items: SHALLOW, perPush: SHALLOW, item: createItems(7) })
    const deepName = await deepQueue(bench)
    bench.progress(`${OPERATIONS} pushes and pops at each depth`)
    const shallow = await measureAtDepth(bench, shallowQueue, 'shallow')
    const deep = await measureAtDepth(bench, deepName, 'deep')

    const { bar, info } = rowsOf(this.title)
    const compare = (
      verb: 'push' | 'pop',
      what: 'requests' | 'writeUnits',
      text: string,
    ): Row[] => {
      const [one, other] = [shallow[verb][what], deep[verb][what]]
      return [
        bar(`${verb}: ${text} differ by`, Math.abs(other / one - 1), atMost(0.05)),
        info(`${verb}: ${text} at 1,000`, one),
        info(`${verb}: ${text} at ${deepItems(bench).toLocaleString('en')}`, other),
      ]
    }
    return [
      ...compare('push', 'requests', 'requests'),
      ...compare('push', 'writeUnits', 'WRU'),
      ...compare('pop', 'requests', 'requests'),
      ...compare('pop', 'writeUnits', 'WRU'),
      rowsOf('record size').bar(
        'largest at 1,000,000 items in one lane, bytes',
        deep.recordBytes,
        atMost(2048),
      ),
    ]
  },
}

async function measureAtDepth(bench: Bench, queue: string, label: string): Promise<Measured> {
  const record = trackRecord(queue)
  const { store, queues, housekeeper } = openFixture(bench, {
    latency: 'none',
    onRow: record.onRow,
  })
  const item = createItems(8)
  const push = () => queues.push(queue, { items: [{ text: item(200) }] })
  const pop = () => queues.pop(queue)
  // Warm up first: cold caches, and entries that the filling left to seal, have nothing to do with depth.
  for (let i = 0; i < WARM_UP; i++) {
    await push()
    await pop()
    await housekeeper.idle()
  }
  // In turns, so that both meet the record at every fill of its tail.
  let pushes: Reading = new Map()
  let pops: Reading = new Map()
  for (let i = 0; i < OPERATIONS; i++) {
    const start = store.meter.read()
    await push()
    const between = store.meter.read()
    await pop()
    pushes = sum(pushes, difference(between, start))
    pops = sum(pops, difference(store.meter.read(), between))
    await housekeeper.idle()
  }
  bench.explain(`push, ${label}`, pushes, OPERATIONS)
  bench.explain(`pop, ${label}`, pops, OPERATIONS)
  return {
    push: each(total(pushes), OPERATIONS),
    pop: each(total(pops), OPERATIONS),
    recordBytes: record.largest(),
  }
}

const LANES = 32

export const recordSize: Scenario = {
  name: 'record-size',
  title: 'record size',
  async run(bench) {
    const queue = bench.queueName('lanes')
    const record = trackRecord(queue)
    const { queues, housekeeper } = openFixture(bench, { latency: 'none', onRow: record.onRow })
    const item = createItems(9)
    bench.progress(`${LANES} lanes, in bulk`)
    for (let priority = 0; priority < LANES; priority++) {
      for (let i = 0; i < 10; i++) {
        const items = Array.from({ length: 100 }, () => ({ text: item(), priority }))
        await queues.push(queue, { items })
        await housekeeper.idle()
      }
    }
    bench.progress(`${LANES} lanes, one by one`)
    for (let i = 0; i < LANES * 25; i++) {
      const priority = (i * 7) % LANES
      await queues.push(queue, { items: [{ text: item(200), priority }] })
      await housekeeper.idle()
      if (i % 3 === 0) await queues.pop(queue)
    }
    return [
      rowsOf(this.title).bar(
        `largest with ${LANES} lanes in use, bytes`,
        record.largest(),
        atMost(6144),
        {
          aim: atMost(4096),
        },
      ),
    ]
  },
}

/** The largest that a queue's record was after any write. */
function trackRecord(queue: string) {
  let largest = 0
  return {
    onRow(row: Readonly<Record<string, unknown>>) {
      if (row.pk === `q#${queue}`) largest = Math.max(largest, itemBytes(row))
    },
    largest: () => largest,
  }
}

const SCHEDULED = 1_000_000
const PER_PUSH = 1_000
const ROUNDS = 400
/** One more item stays after this many rounds: AWS bills full KB, so we measure records and items of many sizes. */
const ROUNDS_PER_STAYING = 4
/** Nothing of it is due while this runs. */
const DELAY_SECONDS = 86_400
/** After this long, the sweeper has copied the last entries out of the record. */
const AT_REST_MS = 61_000

type Verb = 'push' | 'pop' | 'acknowledge'
type MeasuredVerbs = { readonly verbs: Record<Verb, Tally>; readonly recordBytes: number }

export const scheduled: Scenario = {
  name: 'scheduled',
  title: '1,000,000 items for later',
  async run(bench) {
    bench.progress('a queue without')
    const without = await measureVerbs(bench, bench.queueName('without'))
    const queue = bench.queueName('scheduled')
    await schedule(bench, queue, bench.count(SCHEDULED))
    await sweepLater(bench)
    const beside = await measureVerbs(bench, queue)
    const { bar, info } = rowsOf(this.title)
    const compare = (verb: Verb, what: 'requests' | 'writeUnits', text: string): Row[] => {
      const [one, other] = [without.verbs[verb][what], beside.verbs[verb][what]]
      return [
        bar(`${verb}: ${text} more than without them`, other / one - 1, atMost(0.05)),
        info(`${verb}: ${text} without them`, one),
      ]
    }
    const verbs: readonly Verb[] = ['push', 'pop', 'acknowledge']
    return [
      ...verbs.flatMap((verb) => [
        ...compare(verb, 'requests', 'requests'),
        ...compare(verb, 'writeUnits', 'WRU'),
      ]),
      bar(
        'record: bytes more than without them',
        beside.recordBytes / without.recordBytes - 1,
        atMost(0.05),
      ),
      info('record without them, bytes', without.recordBytes),
      info('record: what is more, bytes', beside.recordBytes - without.recordBytes),
    ]
  },
}

/** In pushes of a thousand items, each due in a different second. */
async function schedule(bench: Bench, queue: string, items: number): Promise<void> {
  const { queues, housekeeper } = openFixture(bench, { latency: 'none' })
  const item = createItems(11)
  for (let made = 0; made < items; made += PER_PUSH) {
    const delaySeconds = DELAY_SECONDS + made / PER_PUSH
    const bulk = Array.from({ length: PER_PUSH }, () => ({ text: item(), delaySeconds }))
    await queues.push(queue, { items: bulk })
    if (made % 50_000 === 0) bench.progress(`${made} of ${items} items scheduled`)
  }
  await housekeeper.idle()
}

async function sweepLater(bench: Bench): Promise<void> {
  const clock = {
    nowMs: () => Date.now() + AT_REST_MS,
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  }
  await openQueues(bench.store({ latency: 'none' }), { clock }).returnExpiredLocks()
}

/** A push, a pop and an acknowledgement in turns, equally often; and the record's mean size over all of it. */
async function measureVerbs(bench: Bench, queue: string): Promise<MeasuredVerbs> {
  let [written, bytes] = [0, 0]
  const { store, queues, housekeeper } = openFixture(bench, {
    latency: 'none',
    onRow(row) {
      if (row.pk !== `q#${queue}`) return
      written += 1
      bytes += itemBytes(row)
    },
  })
  const item = createItems(8)
  const readings: Record<Verb, Reading> = {
    push: new Map(),
    pop: new Map(),
    acknowledge: new Map(),
  }
  const sizes = new Random(12)
  let lockId = ''
  const verbs: Record<Verb, () => Promise<unknown>> = {
    push: () => queues.push(queue, { items: [{ text: item(sizes.between(120, 420)) }] }),
    async pop() {
      const popped = await queues.pop(queue, { requireAck: true })
      if (popped.kind === 'items') lockId = popped.lock?.id ?? ''
    },
    acknowledge: () => queues.acknowledge(queue, { lockId }),
  }
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    if (round % ROUNDS_PER_STAYING === 0) await verbs.push()
    if (round === WARM_UP) [written, bytes] = [0, 0]
    for (const verb of ['push', 'pop', 'acknowledge'] as const) {
      const start = store.meter.read()
      await verbs[verb]()
      if (round < WARM_UP) continue
      readings[verb] = sum(readings[verb], difference(store.meter.read(), start))
    }
    await housekeeper.idle()
  }
  const tallyOf = (verb: Verb): Tally => each(total(readings[verb]), ROUNDS)
  return {
    verbs: { push: tallyOf('push'), pop: tallyOf('pop'), acknowledge: tallyOf('acknowledge') },
    recordBytes: bytes / written,
  }
}

const MEGABYTE = 1024 * 1024
/** Less than any function is deployed with: a drain must not need more. */
const HEAP_MEGABYTES = 256
/**
 * The heap of a function of this size, in the shares that Lambda's Node has been started with. On
 * a machine of 24 GB V8 lets its young generation alone grow by 100 MB of garbage, whatever lives.
 */
const likeLambda = [
  `--max-semi-space-size=${Math.floor(HEAP_MEGABYTES * 0.05)}`,
  `--max-old-space-size=${Math.floor(HEAP_MEGABYTES * 0.9)}`,
]

export const memory: Scenario = {
  name: 'memory',
  title: 'draining 1,000,000 items',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const expected = deepItems(bench)
    const startMs = performance.now()
    const { items, samples, heapGrowth } = await drain(bench, {
      dynamodbEndpoint: bench.embedded.dynamodbEndpoint,
      s3Endpoint: bench.embedded.s3Endpoint,
      queue: await deepQueue(bench),
      items: expected,
    })
    const [first = 0] = samples
    const growth = (Math.max(...samples) - first) / MEGABYTE
    return [
      bar('resident memory grows by, MiB', growth, atMost(64)),
      // The depth scenario pushed and popped items too, equally many.
      bar('items that came out', items, atLeast(expected)),
      info('resident after the first pop, MiB', first / MEGABYTE),
      info('live heap grows by, MiB', heapGrowth / MEGABYTE),
      info('items/s, no latency', items / ((performance.now() - startMs) / 1000)),
    ]
  },
}

function drain(
  bench: Bench,
  request: DrainRequest,
): Promise<Extract<DrainReport, { kind: 'done' }>> {
  const child = fork(join(import.meta.dirname, '..', 'drain-child.ts'), [JSON.stringify(request)], {
    execArgv: ['--expose-gc', ...likeLambda],
  })
  return new Promise((resolve, reject) => {
    child.on('message', (report: DrainReport) => {
      if (report.kind === 'done') resolve(report)
      else bench.progress(`drained ${report.items} of ${request.items} items`)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The draining process ended with ${code}`)))
  })
}

const made = new WeakMap<Bench, Promise<string>>()

const deepItems = (bench: Bench): number => bench.count(1_000_000)

/** A queue of a million items, made once a run: depth, record size and memory are measured on it. */
function deepQueue(bench: Bench): Promise<string> {
  const queue = made.get(bench) ?? makeDeep(bench)
  made.set(bench, queue)
  return queue
}

async function makeDeep(bench: Bench): Promise<string> {
  const queue = bench.queueName('deep')
  await fill(bench, queue, { items: deepItems(bench), perPush: 1000, item: createItems(6) })
  return queue
}
