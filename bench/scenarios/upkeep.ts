// What nobody asks for, on simulated time: how many queues the sweeper visits in a run, and what patterns cost.

import type { QueuePatternInput, Queues } from '../../engine/queues.ts'
import { seeded } from '../../testing/random.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { createVirtualTime, type VirtualTime } from '../../testing/simulated/virtual-time.ts'
import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../fixture.ts'
import { createItems } from '../load.ts'
import { difference, each, type Meter, total } from '../meter.ts'
import { DYNAMODB_LATENCY_MS } from '../metered-stores.ts'
import { atLeast, atMost, rowsOf } from '../report.ts'
import { openSimulated } from '../simulated-producers.ts'

const START_MS = Date.UTC(2026, 10, 19, 7)
/** A run's time: its function's 70 s, less ten for its end. */
const RUN_MS = 60_000

/** A minute of the sweeper on simulated time: queues whose locks are over, and what a visit costs. */
export const sweep: Scenario = {
  name: 'sweep',
  title: 'a run of the sweeper over queues whose locks are over (simulated time)',
  async run(bench) {
    const queues = bench.count(20_000)
    let isMeasured = false
    const place = openPlace(async (time, ms) => (isMeasured ? time.sleep(ms) : undefined))
    const { queues: engine, meter, time } = place
    for (let n = 0; n < queues; n += 1) {
      if (n % 2_000 === 0) bench.progress(`${n} of ${queues} queues`)
      const queue = `device-${n}`
      await engine.push(queue, { items: [{ text: '1' }] })
      await engine.pop(queue, { requireAck: true, ttlSeconds: 1 })
    }
    await time.run(START_MS + 2_000)
    isMeasured = true
    const before = meter.read()
    const sweeping = engine.returnExpiredLocks({ deadlineMs: time.nowMs() + RUN_MS })
    const { itemsReturned: swept } = await passing(time, sweeping, 100)
    const tookMs = time.nowMs() - START_MS - 2_000
    const used = total(difference(meter.read(), before))
    const { bar, info } = rowsOf(this.title)
    return [
      bar('queues a minute', (swept / tookMs) * RUN_MS, atLeast(20_000)),
      info('requests a queue', used.requests / queues),
      info('WRU a queue', used.writeUnits / queues),
      info('RRU a queue', used.readUnits / queues),
    ]
  },
}

const MINUTE_MS = 60_000
const ROUNDS = 10
/** Of items from 1 byte on: of one size, all records would cross a kilobyte with the same push. */
const BYTES_MAX = 400
const PREFIXES = ['tenant-', 'tenant-7', 'device-']

const three = (capacity: number): QueuePatternInput[] =>
  PREFIXES.map((prefix, n) => ({
    prefix,
    settings: { capacity: capacity + n, maxDeliveries: 3, itemTtlSeconds: 86_400 },
  }))

/** Ten thousand queues that nobody configures: the patterns of three prefixes say how they behave, on simulated time. */
export const patterns: Scenario = {
  name: 'patterns',
  title: 'queues under three patterns, of which nobody configures one (simulated time)',
  async run(bench) {
    const ids = Array.from(
      { length: bench.count(10_000) },
      (_, n) => `${PREFIXES[n % PREFIXES.length]}${n}`,
    )
    const plain = await pushes(bench, openPlace(), ids)
    const place = openPlace()
    await passing(place.time, place.queues.configurePatterns(three(1_000_000)))
    const patterned = await pushes(bench, place, ids)
    const minutes = await minutesUntilChanged(place, ids)
    const { bar, info } = rowsOf(this.title)
    return [
      bar('requests of a push, × without patterns', ratio(patterned, plain, 'requests'), atMost(1)),
      bar('WRU of a push, × without patterns', ratio(patterned, plain, 'writeUnits'), atMost(1.03)),
      bar('RRU of a push', patterned.further.readUnits, atMost(0)),
      info('requests of a queue’s first push', patterned.first.requests),
      info('without patterns', plain.first.requests),
      bar('minutes until changed patterns hold for all queues', minutes, atMost(3)),
    ]
  },
}

type Pushes = Awaited<ReturnType<typeof pushes>>

const ratio = (one: Pushes, other: Pushes, what: 'requests' | 'writeUnits'): number =>
  one.further[what] / other.further[what]

/** What the push that makes a queue uses, and what each of those that follow uses. */
async function pushes(bench: Bench, place: Place, ids: readonly string[]) {
  const item = createItems(1)
  const random = seeded(2)
  const round = async () => {
    for (const id of ids) {
      const text = item(1 + Math.floor(random() * BYTES_MAX))
      await passing(place.time, place.queues.push(id, { items: [{ text }] }))
    }
  }
  const before = place.meter.read()
  await round()
  const made = place.meter.read()
  for (let n = 1; n <= ROUNDS; n += 1) {
    bench.progress(`${n * ids.length} of ${ROUNDS * ids.length} pushes`)
    await round()
  }
  return {
    first: each(total(difference(made, before)), ids.length),
    further: each(total(difference(place.meter.read(), made)), ROUNDS * ids.length),
  }
}

/** The sweeper runs once a minute; its walk copies changed patterns into the records that exist. */
async function minutesUntilChanged({ queues, time }: Place, ids: readonly string[]) {
  const capacity = 5_000_000
  await passing(time, queues.configurePatterns(three(capacity)))
  for (let minute = 1; ; minute += 1) {
    const nextMs = time.nowMs() + MINUTE_MS
    await passing(time, queues.returnExpiredLocks({ deadlineMs: nextMs }))
    await time.run(nextMs)
    if (await allHave(ids)) return minute
  }

  async function allHave(all: readonly string[]): Promise<boolean> {
    for (const id of all) {
      const settings = await passing(time, queues.inspect(id, { consistent: true }))
      if ((settings.configuration.capacity ?? 0) < capacity) return false
    }
    return true
  }
}

type Place = { readonly queues: Queues; readonly meter: Meter; readonly time: VirtualTime }

type Wait = (time: VirtualTime, ms: number) => Promise<void>

function openPlace(wait: Wait = (time, ms) => time.sleep(ms)): Place {
  const time = createVirtualTime(START_MS)
  const simulated = new SimulatedStore({ nowMs: time.nowMs })
  const store = openSimulated(simulated, { wait: (ms) => wait(time, ms) })
  return { queues: openQueues(store, { clock: time, random: seeded(1) }), meter: store.meter, time }
}

/** Lets the time pass, a step at a time, until the work is done. */
async function passing<T>(
  time: VirtualTime,
  work: Promise<T>,
  stepMs = DYNAMODB_LATENCY_MS,
): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  // The caller gets the error from `done`, but only later, and Node would end the process before.
  done.catch(() => {})
  while (!isDone) await time.run(time.nowMs() + stepMs)
  return done
}
