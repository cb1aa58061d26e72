// What a push costs: by itself, with a key, with a thousand items, and beside transactions.

import {
  bareUpdate,
  createBareItem,
  createMessageQueue,
  createMessageTable,
  createSourcesQueue,
} from '../baselines/algorithms.ts'
import type { Bench, Scenario, Store } from '../bench.ts'
import { openFixture, openQueues, perRepeat, unlessBusy } from '../fixture.ts'
import { createItems, quantile } from '../load.ts'
import { difference, each, total, writeUnitsWorth } from '../meter.ts'
import { atLeast, atMost, rowsOf } from '../report.ts'
import { simulateProducers, oneItemsThrottle as throttle } from '../simulated-producers.ts'

const BYTES = 200

export const pushSingle: Scenario = {
  name: 'push-single',
  title: 'push one at a time, one producer, 200-byte items',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const ours = await measureEngine(bench, bench.count(10_000))
    const sources = await measureSources(bench)
    const message = await measureMessages(bench)
    const bare = await measureBare(bench)
    const { pushes, housekeeping } = ours
    const ratio = sources.writeUnits / pushes.writeUnits
    return [
      bar('requests an item', pushes.requests, atMost(1.25)),
      bar('WRU an item', pushes.writeUnits, atMost(2.6), { aim: atMost(2) }),
      bar('RRU an item', pushes.readUnits, atMost(0)),
      bar('times fewer WRU than the sources', ratio, atLeast(8)),
      info('failed writes a push', pushes.failedWrites),
      info('housekeeping: worth of WRU an item', writeUnitsWorth(housekeeping)),
      info('sources: WRU an item', sources.writeUnits),
      info('sources, were transactions not billed double: WRU', sources.writeUnits / 2),
      info('sources: requests an item', sources.requests),
      info('row a message: WRU an item', message.writeUnits),
      info('bare UpdateItem: WRU', bare.writeUnits),
    ]
  },
}

async function measureEngine(bench: Bench, count: number) {
  const { store, queues, housekeeper, housekeeping } = openFixture(bench)
  const queue = bench.queueName('single')
  const item = createItems(1)
  // We do not measure this one: only the push that makes a queue reads something, the settings of its prefix.
  await openFixture(bench).queues.push(queue, { items: [{ text: item(BYTES) }] })
  for (let i = 0; i < count; i++) {
    await queues.push(queue, { items: [{ text: item(BYTES) }] })
    if (i % 250 === 0) bench.progress(`${i} of ${count} pushes`)
  }
  await housekeeper.idle()
  bench.explain('push one at a time', store.meter.read(), count)
  bench.explain('push one at a time: housekeeping', housekeeping.meter.read(), count)
  return { pushes: perItem(store, count), housekeeping: perItem(housekeeping, count) }
}

/** Whole segments, so that the average is over every fill of the last one. */
function measureSources(bench: Bench) {
  const count = bench.quick ? 200 : 1000
  const store = bench.store()
  const queue = createSourcesQueue(store, bench.queueName('single'))
  const item = createItems(1)
  bench.progress(`sources' algorithm: ${count} pushes`)
  return perRepeat(store, count, () => queue.push(item(BYTES)))
}

async function measureMessages(bench: Bench) {
  const count = bench.count(1000)
  const store = bench.store()
  const table = bench.queueName('messages')
  await createMessageTable(bench.embedded.dynamodb, table)
  const queue = createMessageQueue(store, table)
  const item = createItems(1)
  bench.progress(`row a message: ${count} pushes`)
  return perRepeat(store, count, () => queue.enqueue(item(BYTES)))
}

async function measureBare(bench: Bench) {
  const name = bench.queueName('single')
  await createBareItem(bench.store(), name)
  const store = bench.store()
  const item = createItems(1)
  return perRepeat(store, 100, () => bareUpdate(store, name, item(BYTES)))
}

const perItem = ({ meter }: Store, count: number) => each(total(meter.read()), count)

const PRODUCERS = 8

/**
 * Pushes with an Idempotency-Key beside plain ones: alone and from many processes in turn on the embedded store, and
 * eight producers on one queue of a store that takes 1,000 write units a second for an item, on simulated time.
 */
export const keyed: Scenario = {
  name: 'keyed',
  title: 'push with an Idempotency-Key, 200-byte items',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const alone = await measureAlone(bench)
    const thirty = await measureInTurn(bench, 30)
    const hundred = await measureInTurn(bench, 100)
    const seconds = bench.quick ? 4 : 10
    const load = { producers: PRODUCERS, seconds, itemBytes: BYTES, throttle }
    const plain = await simulateProducers(load)
    const withKeys = await simulateProducers({ ...load, keyed: PRODUCERS })
    const units = total(withKeys.reading)
    return [
      bar('alone: requests a push', alone.requests, atMost(2.4), { aim: atMost(2.1) }),
      bar('alone: WRU a push', alone.writeUnits, atMost(3.4), { aim: atMost(3) }),
      bar('alone: RRU a push', alone.readUnits, atMost(1), { aim: atMost(0.5) }),
      bar('30 processes taking turns: requests a push', thirty.requests, atMost(2.4)),
      bar('30 processes taking turns: WRU a push', thirty.writeUnits, atMost(3.6)),
      bar('100 processes taking turns: WRU a push', hundred.writeUnits, atMost(3.6)),
      info('100 processes taking turns: requests a push', hundred.requests),
      info('100 processes taking turns: RRU a push', hundred.readUnits),
      bar(
        '8, throttled: pushes, of plain ones',
        withKeys.perSecond / plain.perSecond,
        atLeast(0.7),
        {
          aim: atLeast(0.9),
        },
      ),
      bar('8, throttled: p99, of plain ones', withKeys.p99Ms / plain.p99Ms, atMost(2)),
      info('8, throttled: pushes a simulated second', withKeys.perSecond),
      info('8, throttled: p99 of a push, ms', withKeys.p99Ms),
      info('8, throttled: WRU a push, all in', units.writeUnits / withKeys.done),
      info('8, throttled: failed writes a push', units.failedWrites / withKeys.done),
    ]
  },
}

async function measureAlone(bench: Bench) {
  const count = bench.count(2_000)
  const { store, queues, housekeeper } = openFixture(bench)
  const queue = bench.queueName('keyed')
  const item = createItems(1)
  // The first makes the queue.
  await queues.push(queue, { items: [{ text: item(BYTES) }], idempotencyKey: 'first' })
  const atStart = store.meter.read()
  for (let i = 0; i < count; i++) {
    await queues.push(queue, { items: [{ text: item(BYTES) }], idempotencyKey: `key-${i}` })
    if (i % 250 === 0) bench.progress(`${i} of ${count} pushes`)
  }
  await housekeeper.idle()
  const reading = difference(store.meter.read(), atStart)
  bench.explain('push with a key, alone', reading, count)
  return each(total(reading), count)
}

/** As a fleet does: each process pushes once, then all the others do. */
async function measureInTurn(bench: Bench, processes: number) {
  const count = bench.count(2_000)
  const { store, queues, housekeeper } = openFixture(bench)
  const fleet = Array.from({ length: processes }, () => openQueues(store))
  const queue = bench.queueName('keyed-turns')
  const item = createItems(1)
  const pushInTurn = async (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const request = { items: [{ text: item(BYTES) }], idempotencyKey: `key-${i}` }
      await fleet[i % processes]?.push(queue, request)
      if (i % 250 === 0) bench.progress(`${i} of ${to} pushes, ${processes} processes`)
    }
  }
  await queues.push(queue, { items: [{ text: item(BYTES) }] })
  await pushInTurn(0, 2 * processes)
  const atStart = store.meter.read()
  await pushInTurn(2 * processes, 2 * processes + count)
  await housekeeper.idle()
  const reading = difference(store.meter.read(), atStart)
  bench.explain(`push with a key, ${processes} processes`, reading, count)
  return each(total(reading), count)
}

const ITEMS = 1000

export const largePush: Scenario = {
  name: 'large-push',
  title: 'a 1,000-item push while 8 producers append without pause',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const times = bench.quick ? 10 : 50
    const alone = await measureLarge(bench, 0, times)
    const beside = await measureLarge(bench, PRODUCERS, times)
    const aloneMs = quantile(alone, 0.5)
    const besideMs = quantile(beside, 0.5)
    return [
      bar('times its time alone, at the median', besideMs / aloneMs, atMost(20), {
        aim: atMost(5),
      }),
      info('alone: median, ms', aloneMs),
      info('beside 8 producers: median, ms', besideMs),
      info('beside 8 producers: slowest, ms', Math.max(...beside)),
    ]
  },
}

async function measureLarge(bench: Bench, producers: number, times: number): Promise<number[]> {
  const { store, queues, housekeeper } = openFixture(bench)
  const queue = bench.queueName('large')
  const item = createItems(5)
  let stopped = false

  async function append() {
    const own = openQueues(store)
    while (!stopped) await unlessBusy(() => own.push(queue, { items: [{ text: item(200) }] }))
  }
  const appending = Array.from({ length: producers }, append)

  const durationsMs: number[] = []
  for (let i = 0; i < times; i++) {
    bench.progress(`beside ${producers} producers: ${i} of ${times}`)
    const items = Array.from({ length: ITEMS }, () => ({ text: item() }))
    const startMs = performance.now()
    while (!(await unlessBusy(() => queues.push(queue, { items }))));
    durationsMs.push(performance.now() - startMs)
    // Pause, so that appends also go on between two large pushes, not only during one.
    await store.delay.wait(20)
  }
  stopped = true
  await Promise.all(appending)
  await housekeeper.idle()
  return durationsMs
}

/** Producers with a key, without one, and with their own transactions. */
const LOADS = [
  [8, 0, 0],
  [64, 0, 0],
  [64, 16, 0],
  [64, 16, 4],
] as const

/**
 * Producers with keys and without on one queue, where transactions hold their items for some
 * milliseconds, as on AWS and in no embedded store; on simulated time.
 */
export const transactions: Scenario = {
  name: 'transactions',
  title: 'pushes with keys, transactions hold their items for 5–15 ms (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 20
    const { bar, info } = rowsOf(this.title)
    const rows = []
    for (const [keyed, plain, transacting] of LOADS) {
      const producers = keyed + plain + transacting
      const name = `${keyed} with keys, ${plain} without, ${transacting} in transactions`
      bench.progress(name)
      const load = {
        producers,
        keyed,
        transacting,
        seconds,
        itemBytes: 200,
        slowTransactions: true,
      }
      const result = await simulateProducers(load)
      const { writeUnits } = total(result.reading)
      const asked = result.keyed.done + result.keyed.gaveWay
      rows.push(
        bar(
          `${name}: told to come back, share of those`,
          result.keyed.gaveWay / asked,
          atMost(transacting === 0 ? 0 : 0.05),
        ),
        info(`${name}: pushes with keys a second`, result.keyed.done / seconds),
        info(`${name}: in transactions a second`, result.transacting.done / seconds),
        info(`${name}: p99 of those, ms`, result.keyed.p99Ms),
        info(`${name}: WRU a push, all in`, writeUnits / result.done),
      )
    }
    return rows
  },
}
