// The cost of a pop of one item by a process that has never seen the queue, by the item's size and place; and the cost
// of inspecting a queue with many priorities.

import { randomBytes } from 'node:crypto'
import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { openFixture } from '../fixture.ts'
import { difference, type Tally, total } from '../metering/meter.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

const KILOBYTES = [1, 20, 100, 256]
/** Segments of 20, so that 256 KB an item are not 64 MB a segment on this machine. */
const SEGMENT = 20
const ITEMS = 240
const PRIORITIES = 1_000

export const largeItems: Scenario = {
  name: 'large-items',
  title: 'a cold pop of one item, by its size and place; an inspection of 1,000 priorities',
  async run(bench) {
    const rows: Row[] = []
    for (const kilobytes of KILOBYTES) rows.push(...(await popRows(this.title, bench, kilobytes)))
    return [...rows, ...(await inspectionRows(this.title, bench))]
  },
}

async function popRows(title: string, bench: Bench, kilobytes: number): Promise<Row[]> {
  const queue = bench.queueName(`large-${kilobytes}`)
  const { queues, housekeeper } = openFixture(bench, { latency: 'none' })
  await queues.configure(queue, { segmentSize: SEGMENT })
  for (let n = 0; n < ITEMS; n += 1) {
    if (n % 60 === 0) bench.progress(`items of ${kilobytes} KB: ${n} of ${ITEMS}`)
    // Base64 is a third longer than its bytes, and random bytes do not compress below that.
    const text = JSON.stringify(randomBytes(kilobytes * 768 - 3).toString('base64'))
    await queues.push(queue, { items: [{ text }] })
    await housekeeper.idle()
  }
  // Into the third segment, which was recalled when the second began.
  for (let taken = 0; taken <= 2 * SEGMENT; taken += 1) await queues.pop(queue)
  await housekeeper.idle()
  const recalled = await costOfPops(bench, queue)
  // Without housekeeping, the frontier reaches a segment that only S3 has.
  const ahead = openQueues(bench.store({ latency: 'none' }))
  for (let taken = 0; taken < 2 * SEGMENT; taken += 1) await ahead.pop(queue)
  const offloaded = await costOfPops(bench, queue)
  return [
    ...placeRows(title, `${kilobytes} KB, recalled`, recalled, kilobytes === 100),
    ...placeRows(title, `${kilobytes} KB, in S3`, offloaded, kilobytes === 100),
  ]
}

type Cost = { readonly first: Tally; readonly next: Tally }

/** The first two pops of a new process. */
async function costOfPops(bench: Bench, queue: string): Promise<Cost> {
  const store = bench.store({ latency: 'none' })
  const queues = openQueues(store)
  const cost = async () => {
    const before = store.meter.read()
    await queues.pop(queue)
    return total(difference(store.meter.read(), before))
  }
  return { first: await cost(), next: await cost() }
}

function placeRows(title: string, place: string, { first, next }: Cost, isBar: boolean): Row[] {
  const { bar, info } = rowsOf(title)
  const requests = `${place}: requests`
  const units = `${place}: RRU`
  return [
    isBar ? bar(requests, first.requests, atMost(3)) : info(requests, first.requests),
    isBar ? bar(units, first.readUnits, atMost(60)) : info(units, first.readUnits),
    info(`${place}: GETs from S3`, first.s3Gets),
    info(`${place}: requests of the next pop`, next.requests),
  ]
}

async function inspectionRows(title: string, bench: Bench): Promise<Row[]> {
  const queue = bench.queueName('priorities')
  const { queues } = openFixture(bench, { latency: 'none' })
  const items = Array.from({ length: PRIORITIES }, (_, priority) => ({ text: '1', priority }))
  await queues.push(queue, { items })
  const store = bench.store({ latency: 'none' })
  await openQueues(store).inspect(queue)
  const { requests, readUnits } = total(store.meter.read())
  const { bar, info } = rowsOf(title)
  return [
    bar('inspection of 1,000 priorities: requests', requests, atMost(1)),
    info('inspection of 1,000 priorities: RRU', readUnits),
  ]
}
