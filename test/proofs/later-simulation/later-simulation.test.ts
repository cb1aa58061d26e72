import { expect, it } from 'vitest'
import { runSeed } from './run-seed.ts'

// Thousands of seeds: `node test/proofs/later-simulation/main.ts`.
it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'What is pushed for later is handed out once, never early and never after it was cancelled, whatever dies or gets lost (seed %i).',
  async (seed) => {
    const { violations } = await runSeed(seed)
    expect(violations).toEqual([])
  },
)
