// 32 callers in one process push to one queue, each its next item when it has its answer: each push by itself,
// and with linger. The item is throttled as DynamoDB throttles one; on simulated time.

import type { Scenario } from '../bench.ts'
import { total } from '../metering/meter.ts'
import { atLeast, atMost, type Row, rowsOf } from '../rows.ts'
import { type SimulatedResult, simulateProducers } from '../simulated/producers.ts'

const throttle = { writeUnitsPerSecond: 1000, burstUnits: 1000 }

const ways = [
  { name: 'linger', linger: true },
  { name: 'linger of 5 ms', linger: { waitMs: 5 } },
] as const

export const linger: Scenario = {
  name: 'linger',
  title: '32 callers in one process, an item throttled at 1,000 units/s (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 10
    const simulate = (producers: number, linger: boolean | object) => {
      bench.progress(`${producers} callers, linger: ${JSON.stringify(linger)}`)
      const load = { producers, seconds, itemBytes: 200, throttle, oneProcess: { linger } }
      return simulateProducers(load)
    }
    const { bar, info } = rowsOf(this.title)
    const without = await simulate(32, false)
    const rows: Row[] = [...figures(info, 'each push by itself', without)]
    for (const { name, linger } of ways) {
      const lingering = await simulate(32, linger)
      bench.explain(`32 callers, ${name}`, lingering.reading, lingering.done)
      const times = lingering.perSecond / without.perSecond
      const metric = `${name}: times the items a second of each by itself`
      if (linger === true) {
        const { writeUnits } = total(lingering.reading)
        rows.unshift(
          bar(metric, times, atLeast(10), { aim: atLeast(20) }),
          bar(`${name}: WRU an item`, writeUnits / lingering.done, atMost(0.25)),
        )
      } else rows.push(info(metric, times))
      rows.push(...figures(info, name, lingering))
    }
    // The callers above wait for two requests of 5 ms: no batching gives them more than 3,200 items a second.
    const many = await simulate(512, true)
    rows.push(...figures(info, 'linger, 512 callers', many))
    return rows
  },
}

type Info = ReturnType<typeof rowsOf>['info']

function figures(info: Info, name: string, result: SimulatedResult): Row[] {
  const { done, perSecond, p99Ms, reading } = result
  const { writeUnits, requests } = total(reading)
  return [
    info(`${name}: items a simulated second`, perSecond),
    info(`${name}: p99 of a push, ms`, p99Ms),
    info(`${name}: WRU an item, all in`, writeUnits / done),
    info(`${name}: requests an item`, requests / done),
  ]
}
