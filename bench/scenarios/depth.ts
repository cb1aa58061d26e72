import type { Bench, Scenario } from '../bench.ts'
import { deepItems, deepQueue } from '../deep-queue.ts'
import { fill, openFixture } from '../fixture.ts'
import { createItems } from '../items.ts'
import { itemBytes } from '../metering/failed-write.ts'
import { difference, each, type Reading, sum, type Tally, total } from '../metering/meter.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

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
    const shallow = await measure(bench, shallowQueue, 'shallow')
    const deep = await measure(bench, deepName, 'deep')

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

async function measure(bench: Bench, queue: string, label: string): Promise<Measured> {
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

/** The largest that a queue's record was after any write. */
export function trackRecord(queue: string) {
  let largest = 0
  return {
    onRow(row: Readonly<Record<string, unknown>>) {
      if (row.pk === `q#${queue}`) largest = Math.max(largest, itemBytes(row))
    },
    largest: () => largest,
  }
}
