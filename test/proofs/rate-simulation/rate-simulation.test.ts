import { beforeAll, describe, expect, it } from 'vitest'
import { type PoolResult, runSeeds } from '../world/harness/pool.ts'
import { runRateSeed } from './run-rate-seed.ts'

/** Fewer when it tests a mutant; the first seeds are the same. */
const seeds = Number(process.env.PUSHPOP_RATE_SEEDS ?? 5_000)

/** A run that met less than this in a thousand seeds proves nothing; it is about a tenth of the usual. */
const perThousand: Readonly<Record<string, number>> = {
  'answer allowed': 3_000,
  'answer allowed after waiting': 50,
  'answer denied': 800,
  'answer override-refused': 20,
  'answer promised': 100,
  'fault answer-lost': 20,
  'fault request-lost': 20,
  'fault lands-late': 20,
  'fault pause': 15,
  'fault throttled': 50,
  'fault slow': 30,
  'fault crash, request sent': 5,
  'fault crash, request not sent': 5,
  'gave up: given-up': 8,
  'gave up: kept': 10,
  'gave up: too-late': 10,
  'operation configure answered': 100,
  'operation configurePatterns answered': 40,
  'operation unconfigure answered': 20,
  'operation verify answered': 30,
  'path lost a race': 500,
  'rows expired': 100,
  'slots that came too late': 1,
}

describe(`${seeds} seeds of rate limits`, () => {
  let result: PoolResult

  beforeAll(async () => {
    // Each seed draws how long it is; ten failures show whether they are of one kind.
    const worker = new URL('./rate-worker.ts', import.meta.url)
    result = await runSeeds({ from: 1, seeds, operations: 0, failuresMax: 10, worker })
  }, 600_000)

  it('keep every invariant', () => {
    const told = result.failures.map(
      ({ seed, rule, explanation }) =>
        `${rule}: ${explanation}\n  node test/proofs/rate-simulation/main.ts --seed ${seed}`,
    )
    expect(told).toEqual([])
    expect(result.seeds).toBe(seeds)
  })

  it('meet every fault, verb and answer often enough to prove something', () => {
    const missing = Object.entries(perThousand).filter(
      ([name, least]) => result.statistics.get(name) < (least * seeds) / 1_000,
    )
    expect(missing.map(([name]) => [name, result.statistics.get(name)])).toEqual([])
  })
})

it('The same seed is the same run.', async () => {
  for (const seed of [7, 831, 1_109, 5_091]) {
    const [one, two] = [await runRateSeed(seed, true), await runRateSeed(seed, true)]
    expect(two.history.hash()).toBe(one.history.hash())
  }
})
