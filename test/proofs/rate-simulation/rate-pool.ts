import { type PoolResult, runSeeds } from '../simulation/pool.ts'

/** Enough to see whether they are of one kind. */
const FAILURES_MAX = 10

/** Runs seeds of rate limits in one process a core; how long each is, it draws itself. */
export const runRateSeeds = (options: {
  readonly from: number
  readonly seeds: number
  readonly workers?: number
}): Promise<PoolResult> =>
  runSeeds({
    ...options,
    operations: 0,
    worker: new URL('./rate-worker.ts', import.meta.url),
    failuresMax: FAILURES_MAX,
  })
