import type { Bench, Scenario } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { fill, openFixture, unlessBusy } from '../fixture.ts'
import { createItems } from '../items.ts'
import { type LoadResult, runLoad } from '../load.ts'
import { difference, type Reading, type Tally, total } from '../metering/meter.ts'
import { atLeast, atMost, rowsOf } from '../rows.ts'

type Measured = LoadResult & {
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
    const one = await measure(bench, 1)
    const eight = await measure(bench, 8)
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

async function measure(bench: Bench, workers: number): Promise<Measured> {
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
