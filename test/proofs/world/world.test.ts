import { beforeAll, describe, expect, it } from 'vitest'
import { type PoolResult, prepareProcess, runSeeds } from './harness/pool.ts'
import { missingCoverage } from './harness/statistics.ts'
import { runSeed } from './run-seed.ts'

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

const run = (seed: number) => runSeed({ seed, operations: 100, history: true })

describe('a seed', () => {
  beforeAll(() => prepareProcess({ stacks: true }))

  it.each([1, 2, 3, 17, 4711, 123_456_789])('%i gives the same history each time', async (seed) => {
    const first = await run(seed)
    const second = await run(seed)
    expect(second.history.lines).toEqual(first.history.lines)
    expect(first.history.lines.length).toBeGreaterThan(100)
  })

  it('gives the same verdict with its history off', async () => {
    const withHistory = await run(5)
    const without = await runSeed({ seed: 5, operations: 100 })
    expect(without.statistics.toJSON()).toEqual(withHistory.statistics.toJSON())
  })

  it('differs from another', async () => {
    expect((await run(2)).history.lines).not.toEqual((await run(1)).history.lines)
  })
})
