// Producers with keys and without on one queue, where transactions hold their items for some
// milliseconds, as on AWS and in no embedded store; on simulated time.

import type { Scenario } from '../bench.ts'
import { total } from '../metering/meter.ts'
import { atMost, rowsOf } from '../rows.ts'
import { simulateProducers } from '../simulated/producers.ts'

/** Producers with a key, without one, and with their own transactions. */
const LOADS = [
  [8, 0, 0],
  [64, 0, 0],
  [64, 16, 0],
  [64, 16, 4],
] as const

export const transactions: Scenario = {
  name: 'transactions',
  title: 'pushes with keys, transactions hold their items for 5–15 ms (simulated time)',
  async run(bench) {
    const seconds = bench.quick ? 4 : 20
    const { bar, info } = rowsOf(this.title)
    const rows = []
    for (const [keyed, plain, transacting] of LOADS) {
      const producers = keyed + plain + transacting
      const name = `${keyed} with keys, ${plain} without, ${transacting} in transactions`
      bench.progress(name)
      const load = {
        producers,
        keyed,
        transacting,
        seconds,
        itemBytes: 200,
        slowTransactions: true,
      }
      const result = await simulateProducers(load)
      const { writeUnits } = total(result.reading)
      const asked = result.keyed.done + result.keyed.gaveWay
      rows.push(
        bar(
          `${name}: told to come back, share of those`,
          result.keyed.gaveWay / asked,
          atMost(transacting === 0 ? 0 : 0.05),
        ),
        info(`${name}: pushes with keys a second`, result.keyed.done / seconds),
        info(`${name}: in transactions a second`, result.transacting.done / seconds),
        info(`${name}: p99 of those, ms`, result.keyed.p99Ms),
        info(`${name}: WRU a push, all in`, writeUnits / result.done),
      )
    }
    return rows
  },
}
