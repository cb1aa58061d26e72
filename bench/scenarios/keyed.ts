// Pushes with an Idempotency-Key beside plain ones: alone and from many processes in turn on the embedded store, and
// eight producers on one queue of a store that takes 1,000 write units a second for an item, on simulated time.

import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { openFixture } from '../fixture.ts'
import { createItems } from '../items.ts'
import { difference, each, total } from '../metering/meter.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'
import { simulateProducers } from '../simulated/producers.ts'

const BYTES = 200
const PRODUCERS = 8
const throttle = { writeUnitsPerSecond: 1000, burstUnits: 1000 }

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
      bar('alone: requests a push', alone.requests, atMost(2.3), { aim: atMost(2.1) }),
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
