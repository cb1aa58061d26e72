import { expect, it } from 'vitest'
import { simulateProducers } from '../../bench/simulated/producers.ts'

/**
 * On AWS a transaction holds its items for some milliseconds, and whatever else writes to them meanwhile
 * is refused. Taken for throttling, these refusals made 643 of some thousand pushes give up.
 */
it('Beside transactions of others, hardly any producer has to come back.', async () => {
  const result = await simulateProducers({
    producers: 64,
    keyed: 24,
    transacting: 32,
    seconds: 4,
    itemBytes: 200,
    slowTransactions: true,
  })
  expect(result.transacting.done).toBeGreaterThan(50)
  expect(result.keyed.done).toBeGreaterThan(50)
  expect(result.gaveWay / (result.done + result.gaveWay)).toBeLessThanOrEqual(0.02)
})
