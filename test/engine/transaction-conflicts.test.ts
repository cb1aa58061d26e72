import { expect, it } from 'vitest'
import { simulateProducers } from '../../bench/simulated/producers.ts'

/**
 * On AWS a transaction holds its items for some milliseconds, and whatever else writes to them meanwhile
 * is refused. Taken for throttling, these refusals made 643 of some thousand pushes give up.
 */
it.each([
  { producers: 64, keyed: 64 },
  { producers: 80, keyed: 64 },
])(
  '$keyed of $producers producers push with keys, and hardly any has to come back.',
  async (load) => {
    const result = await simulateProducers({
      ...load,
      seconds: 4,
      itemBytes: 200,
      slowTransactions: true,
    })
    expect(result.keyed.done).toBeGreaterThan(200)
    expect(result.gaveWay / (result.done + result.gaveWay)).toBeLessThanOrEqual(0.02)
  },
)
