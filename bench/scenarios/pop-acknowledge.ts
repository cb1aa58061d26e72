import type { Queues } from '../../engine/queues.ts'
import { createMessageQueue, createMessageTable } from '../baselines/message-queue.ts'
import { createSourcesQueue } from '../baselines/sources-queue.ts'
import type { Bench, Scenario } from '../bench.ts'
import { fill, openFixture, perRepeat } from '../fixture.ts'
import { createItems } from '../items.ts'
import { difference, each, type Tally, total } from '../metering/meter.ts'
import { writeUnitsWorth } from '../prices.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

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
          ...(competing && charted('pushpop')),
        }),
        info('combined: RRU an item', combined.readUnits),
        info('separate: housekeeping, worth of WRU an item', apart.housekeeping),
        info('combined: housekeeping, worth of WRU an item', combined.housekeeping),
      )
    }
    return [...rows, ...(await baselineRows(bench, this.title))]
  },
}

const charted = (algorithm: 'pushpop' | 'sources' | 'message') =>
  ({ point: { chart: 'units', algorithm, group: 'pop + acknowledge' } }) as const

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
    info('sources: WRU an item', sources.writeUnits, charted('sources')),
    info('sources: RRU an item', sources.readUnits),
    info('row a message: requests an item', message.requests),
    info('row a message: WRU an item', message.writeUnits, charted('message')),
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
