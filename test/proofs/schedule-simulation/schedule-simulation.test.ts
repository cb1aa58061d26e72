// Schedules: although processes die and answers are lost or late, each occurrence is pushed once, in order and not
// before its time.

import { beforeAll, describe, expect, it } from 'vitest'
import { runSeed } from './run-seed.ts'

/** A sample; `npm run nightly` plays many more. */
const SEEDS = 12

describe(`${SEEDS} seeds of schedules whose sweepers die and whose answers are lost`, () => {
  const broken: string[] = []
  const met = { schedules: 0, occurrences: 0, deaths: 0, missedByRule: 0 }

  beforeAll(async () => {
    for (let seed = 1; seed <= SEEDS && broken.length < 3; seed += 1) {
      const result = await runSeed(seed)
      for (const name of Object.keys(met) as (keyof typeof met)[]) met[name] += result.met[name]
      if (result.violations.length === 0) continue
      broken.push(`seed ${seed}: ${result.violations.slice(0, 10).join('; ')}`)
    }
  }, 600_000)

  it('miss no occurrence, and push none twice or too early.', () => {
    expect(broken).toEqual([])
  })

  it('meet enough of everything to prove something.', () => {
    expect(met.schedules).toBeGreaterThan(100)
    expect(met.occurrences).toBeGreaterThan(8_000)
    expect(met.deaths).toBeGreaterThan(10)
    expect(met.missedByRule).toBeGreaterThan(500)
  })
})
