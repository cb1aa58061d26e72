// Producers with keys and without on one queue, where transactions hold their items for some
// milliseconds, as on AWS and in no embedded store; on simulated time.

import type { Scenario } from '../bench.ts'
import { total } from '../metering/meter.ts'
import { atMost, rowsOf } from '../rows.ts'
import { simulateProducers } from '../simulated/producers.ts'

/** Producers in all, and of those with a key. */
const LOADS = [
  [8, 8],
  [64, 64],
  [80, 64],
] as const

export const transactions: Scenario = {
  name: 'transactions',
  title: 'pushes with keys, transactions hold their items for 5–15 ms (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 20
    const { bar, info } = rowsOf(this.title)
    const rows = []
    for (const [producers, keyed] of LOADS) {
      const name = `${keyed} with keys, ${producers - keyed} without`
      bench.progress(name)
      const load = { producers, keyed, seconds, itemBytes: 200, slowTransactions: true }
      const result = await simulateProducers(load)
      const { writeUnits } = total(result.reading)
      const asked = result.keyed.done + result.keyed.gaveWay
      rows.push(
        bar(
          `${name}: told to come back, share of those`,
          result.keyed.gaveWay / asked,
          atMost(0.05),
        ),
        info(`${name}: pushes with keys a second`, result.keyed.done / seconds),
        info(`${name}: p99 of those, ms`, result.keyed.p99Ms),
        info(`${name}: WRU a push, all in`, writeUnits / result.done),
      )
    }
    return rows
  },
}
