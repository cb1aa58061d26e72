import { runSeedsOf } from '../seeds-of.ts'
import { runRateSeed } from './run-rate-seed.ts'

await runSeedsOf('test/proofs/rate-simulation/main.ts', async (seed) => {
  const { history, violation } = await runRateSeed(seed, true)
  return { history: history.lines, violations: violation === undefined ? [] : [violation.rule] }
})
