// Up to 128 producers on one queue of a store that takes 1,000 write units a second for an item,
// as a partition of DynamoDB does and the embedded store does not; on simulated time.

import type { Scenario } from '../bench.ts'
import { total } from '../metering/meter.ts'
import { atLeast, rowsOf } from '../rows.ts'
import { type SimulatedResult, simulateProducers } from '../simulated/producers.ts'

const PRODUCERS = [8, 32, 64, 128]
/** More producers may cost something; the collapse that we saw in a model left a fifth of the rate. */
const NO_COLLAPSE = 0.6
/** A second's worth may come at once; the warm-up uses it up. */
const throttle = { writeUnitsPerSecond: 1000, burstUnits: 1000 }

export const throttled: Scenario = {
  name: 'throttled',
  title: 'up to 128 producers, an item throttled at 1,000 units/s (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 10
    const results: SimulatedResult[] = []
    for (const producers of PRODUCERS) {
      bench.progress(`${producers} producers`)
      const result = await simulateProducers({ producers, seconds, itemBytes: 200, throttle })
      bench.explain(`${producers} producers, throttled`, result.reading, result.done)
      results.push(result)
    }
    const rates = results.map(({ perSecond }) => perSecond)
    const most = rates.at(-1) as number
    const { bar } = rowsOf(this.title)
    return [
      bar('128: pushes a simulated second', most, atLeast(200), { aim: atLeast(300) }),
      bar('128: share of the best rate from 8 up', most / Math.max(...rates), atLeast(NO_COLLAPSE)),
      ...PRODUCERS.flatMap((producers, i) =>
        detailRows(this.title, producers, results[i] as SimulatedResult),
      ),
    ]
  },
}

function detailRows(title: string, producers: number, result: SimulatedResult) {
  const { info } = rowsOf(title)
  const { writeUnits, failedWrites, throttled: throttledRequests } = total(result.reading)
  const each = (metric: string, sum: number) => info(`${producers}: ${metric}`, sum / result.done)
  return [
    info(`${producers}: pushes a simulated second`, result.perSecond),
    info(`${producers}: p99 of a push, ms`, result.p99Ms),
    each('WRU a push', writeUnits),
    each('failed writes a push', failedWrites),
    each('throttled requests a push', throttledRequests),
    each('told to come back, share of pushes', result.gaveWay),
    each('seals given up, a push', result.backgroundErrors),
  ]
}
