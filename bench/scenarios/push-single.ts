import { bareUpdate, createBareItem } from '../baselines/bare-update.ts'
import { createMessageQueue, createMessageTable } from '../baselines/message-queue.ts'
import { createSourcesQueue } from '../baselines/sources-queue.ts'
import type { Bench, Scenario, Store } from '../bench.ts'
import { openFixture, perRepeat } from '../fixture.ts'
import { createItems } from '../items.ts'
import { each, total } from '../metering/meter.ts'
import { writeUnitsWorth } from '../prices.ts'
import { type Algorithm, atLeast, atMost, type Point, rowsOf } from '../rows.ts'

const BYTES = 200

export const pushSingle: Scenario = {
  name: 'push-single',
  title: 'push one at a time, one producer, 200-byte items',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const point = (algorithm: Algorithm): { point: Point } => ({
      point: { chart: 'units', algorithm, group: 'push' },
    })

    const ours = await measureEngine(bench, bench.count(10_000))
    const sources = await measureSources(bench)
    const message = await measureMessages(bench)
    const bare = await measureBare(bench)
    const { pushes, housekeeping } = ours
    const ratio = sources.writeUnits / pushes.writeUnits
    return [
      bar('requests an item', pushes.requests, atMost(1.25)),
      bar('WRU an item', pushes.writeUnits, atMost(2.6), { aim: atMost(2), ...point('pushpop') }),
      bar('RRU an item', pushes.readUnits, atMost(0)),
      bar('times fewer WRU than the sources', ratio, atLeast(8)),
      info('failed writes a push', pushes.failedWrites),
      info('housekeeping: worth of WRU an item', writeUnitsWorth(housekeeping)),
      info('sources: WRU an item', sources.writeUnits, point('sources')),
      info('sources, were transactions not billed double: WRU', sources.writeUnits / 2),
      info('sources: requests an item', sources.requests),
      info('row a message: WRU an item', message.writeUnits, point('message')),
      info('bare UpdateItem: WRU', bare.writeUnits, point('bare')),
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
