// What a pop costs: one item after another, by many consumers at once, and of large items in a cold process.

import { randomBytes } from 'node:crypto'
import type { Queues } from '../../engine/queues.ts'
import {
  createMessageQueue,
  createMessageTable,
  createSourcesQueue,
} from '../baselines/algorithms.ts'
import type { Bench, Scenario } from '../bench.ts'
import { fill, openFixture, openQueues, perRepeat, unlessBusy } from '../fixture.ts'
import { createItems, type LoadResult, runLoad } from '../load.ts'
import { difference, each, type Reading, type Tally, total, writeUnitsWorth } from '../meter.ts'
import { atLeast, atMost, type Row, rowsOf } from '../report.ts'

const DEPTH = 10_000
/** We take this many of them: twenty-five segments are enough to see what each costs. */
const TAKEN = 2500

type Mode = { readonly combined: boolean; readonly competing: boolean }

export const popAcknowledge: Scenario = {
  name: 'pop-acknowledge',
  title: 'pop + acknowledge one at a time, 10,000 deep, warm',
  async run(bench) {
    const rows: Row[] = []
    for (const competing of [false, true]) {
      const kind = competing ? 'competing' : 'exclusive'
      const { bar, info } = rowsOf(`${this.title}, ${kind}`)
      const apart = await drain(bench, { combined: false, competing })
      const combined = await drain(bench, { combined: true, competing })
      rows.push(
        bar('separate: requests an item', apart.requests, atMost(2.1)),
        bar('separate: WRU an item', apart.writeUnits, atMost(4.5), { aim: atMost(3.2) }),
        bar('separate: RRU an item', apart.readUnits, atMost(0.5)),
        bar('combined: requests an item', combined.requests, atMost(1.1)),
        bar('combined: WRU an item', combined.writeUnits, atMost(2.6), {
          aim: atMost(2),
        }),
        info('combined: RRU an item', combined.readUnits),
        info('separate: housekeeping, worth of WRU an item', apart.housekeeping),
        info('combined: housekeeping, worth of WRU an item', combined.housekeeping),
      )
    }
    return [...rows, ...(await baselineRows(bench, this.title))]
  },
}

type Drained = Tally & { readonly housekeeping: number }

async function drain(bench: Bench, mode: Mode): Promise<Drained> {
  const queue = bench.queueName('drain')
  const count = bench.count(TAKEN)
  await fill(bench, queue, { items: DEPTH, perPush: 100, item: createItems(2) })
  const { store, queues, housekeeper, housekeeping } = openFixture(bench)
  let lock = await takeOne(queues, queue, { ...mode, combined: false }, undefined)
  const atStart = store.meter.read()

  for (let i = 0; i < count; i++) {
    lock = await takeOne(queues, queue, mode, lock)
    if (i % 250 === 0) bench.progress(`${modeText(mode)}: ${i} of ${count} items`)
  }
  const reading = difference(store.meter.read(), atStart)
  await housekeeper.idle()
  bench.explain(modeText(mode), reading, count)
  bench.explain(`${modeText(mode)}: housekeeping`, housekeeping.meter.read(), count)
  return {
    ...each(total(reading), count),
    housekeeping: writeUnitsWorth(each(total(housekeeping.meter.read()), count)),
  }
}

/** Settles the lock held, in the same call or before it, and takes the next item. */
async function takeOne(
  queues: Queues,
  queue: string,
  { combined, competing }: Mode,
  held: string | undefined,
): Promise<string> {
  if (held !== undefined && !combined) await queues.acknowledge(queue, { lockId: held })
  const outcome = await queues.pop(queue, {
    requireAck: true,
    competing,
    ...(held !== undefined && combined && { acknowledge: held }),
  })
  if (outcome.kind !== 'items' || outcome.lock === undefined) {
    throw new Error(`Cannot go on draining because the pop found the queue ${outcome.kind}`)
  }
  return outcome.lock.id
}

const modeText = ({ combined, competing }: Mode): string =>
  `pop and acknowledge ${combined ? 'in one call' : 'apart'}, ${competing ? 'competing' : 'exclusive'}`

async function baselineRows(bench: Bench, title: string): Promise<Row[]> {
  const { info } = rowsOf(title)
  const sources = await drainSources(bench)
  const message = await drainMessages(bench)
  return [
    info('sources: requests an item', sources.requests),
    info('sources: WRU an item', sources.writeUnits),
    info('sources: RRU an item', sources.readUnits),
    info('row a message: requests an item', message.requests),
    info('row a message: WRU an item', message.writeUnits),
    info('row a message: RRU an item', message.readUnits),
  ]
}

async function drainSources(bench: Bench): Promise<Tally> {
  const count = bench.quick ? 100 : 300
  const name = bench.queueName('drain')
  const item = createItems(2)
  const filling = bench.store({ latency: 'none' })
  const toFill = createSourcesQueue(filling, name)
  await perRepeat(filling, count, () => toFill.push(item()))
  const store = bench.store()
  const queue = createSourcesQueue(store, name)
  bench.progress(`sources' algorithm: ${count} items`)
  return perRepeat(store, count, async () => {
    const popped = await queue.popWithAck()
    if (popped !== undefined) await queue.acknowledge(popped.lockId)
  })
}

async function drainMessages(bench: Bench): Promise<Tally> {
  const count = bench.quick ? 200 : 1000
  const table = bench.queueName('drain')
  await createMessageTable(bench.embedded.dynamodb, table)
  const item = createItems(2)
  const filling = bench.store({ latency: 'none' })
  const toFill = createMessageQueue(filling, table)
  await perRepeat(filling, count, () => toFill.enqueue(item()))
  const store = bench.store()
  const queue = createMessageQueue(store, table)
  bench.progress(`row a message: ${count} items`)
  return perRepeat(store, count, async () => {
    const message = await queue.peek()
    if (message !== undefined) await queue.remove(message)
  })
}

type Consumed = LoadResult & {
  readonly tally: Tally
  readonly twice: number
  readonly outOfOrder: number
  readonly lateMs: number
}

export const consumers: Scenario = {
  name: 'consumers',
  title: '8 competing consumers, 1 item a pop, combined calls',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const one = await consume(bench, 1)
    const eight = await consume(bench, 8)
    return [
      bar('times the throughput of one', eight.perSecond / one.perSecond, atLeast(3), {
        aim: atLeast(6),
      }),
      bar('failed writes a pop', eight.tally.failedWrites / eight.done, atMost(0.2)),
      bar('items handed out twice', one.twice + eight.twice, atMost(0)),
      bar('items out of order for one consumer', one.outOfOrder + eight.outOfOrder, atMost(0)),
      info('1: pops/s', one.perSecond),
      info('8: pops/s', eight.perSecond),
      info('8: p50 of a pop, ms', eight.medianMs),
      info('8: p99 of a pop, ms', eight.p99Ms),
      info('8: requests a pop', eight.tally.requests / eight.done),
      info('8: WRU a pop', eight.tally.writeUnits / eight.done),
      info('8: RRU a pop', eight.tally.readUnits / eight.done),
      info('8: told to come back, share of pops', eight.gaveWay / Math.max(1, eight.done)),
      info('8: waits end late by, ms', eight.lateMs),
    ]
  },
}

async function consume(bench: Bench, workers: number): Promise<Consumed> {
  const queue = bench.queueName('consumers')
  const seconds = bench.seconds(8)
  // More than they could take even if each request took only its latency.
  const items = Math.ceil(workers * 200 * (seconds + 1.5))
  await fill(bench, queue, { items, perPush: 1000, item: createItems(3) })

  const { store, housekeeper } = openFixture(bench)
  const engines = Array.from({ length: workers }, () => openQueues(store))
  const held: (string | undefined)[] = engines.map(() => undefined)
  const lastSequence = engines.map(() => -1)
  const seen = new Set<string>()
  let twice = 0
  let outOfOrder = 0
  let atStart: Reading = new Map()

  function check(worker: number, id: string) {
    if (seen.has(id)) twice += 1
    seen.add(id)
    const sequence = Number.parseInt(id.split('-').at(-1) ?? '', 36)
    if (sequence <= (lastSequence[worker] as number)) outOfOrder += 1
    lastSequence[worker] = sequence
  }

  bench.progress(`${workers} consumers`)
  const result = await runLoad({
    workers,
    warmUpSeconds: bench.quick ? 0.3 : 1,
    seconds,
    onStart() {
      atStart = store.meter.read()
    },
    step: (worker) =>
      unlessBusy(async () => {
        const lock = held[worker]
        const outcome = await (engines[worker] as (typeof engines)[number]).pop(queue, {
          requireAck: true,
          competing: true,
          ...(lock !== undefined && { acknowledge: lock }),
        })
        if (outcome.kind !== 'items') throw new Error(`The queue was ${outcome.kind}`)
        held[worker] = outcome.lock?.id
        for (const { id } of outcome.items) check(worker, id)
      }),
  })
  const reading = difference(store.meter.read(), atStart)
  await housekeeper.idle()
  bench.explain(`${workers} competing consumers`, reading, result.done)
  const lateMs = store.delay.lateness().meanMs
  return { ...result, tally: total(reading), twice, outOfOrder, lateMs }
}

const KILOBYTES = [1, 20, 100, 256]
/** Segments of 20, so that 256 KB an item are not 64 MB a segment on this machine. */
const SEGMENT = 20
const ITEMS = 240
const PRIORITIES = 1_000

/**
 * The cost of a pop of one item by a process that has never seen the queue, by the item's size and place; and the cost
 * of inspecting a queue with many priorities.
 */
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
