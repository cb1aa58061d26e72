import { beforeAll, describe, expect, it } from 'vitest'
import { type PoolResult, runSeeds } from './harness/pool.ts'
import { missingCoverage } from './harness/statistics.ts'

/** A sample; `npm run nightly` plays many more. */
const seeds = 300
const operations = 100

describe(`${seeds} seeds of ${operations} operations`, () => {
  let result: PoolResult

  beforeAll(async () => {
    const worker = new URL('./worker.ts', import.meta.url)
    // The longest of all computes while the others wait; so it may take as long as all of them together.
    result = await runSeeds({ from: 1, seeds, operations, failuresMax: 5, worker, patient: true })
  }, 1_800_000)

  it('keep every invariant of docs/architecture.md', () => {
    const told = result.failures.map(
      ({ seed, rule, explanation }) =>
        `${rule}: ${explanation}\n  npm run simulate -- --seed ${seed} --ops ${operations}`,
    )
    expect(told).toEqual([])
    expect(result.seeds).toBe(seeds)
  })

  it('meet every fault, verb and path often enough to prove something', () => {
    expect(missingCoverage(result.statistics, seeds)).toEqual([])
  })
})
