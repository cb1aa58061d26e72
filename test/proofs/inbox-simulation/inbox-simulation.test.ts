import { expect, it } from 'vitest'
import { runSeed } from './run-seed.ts'

// More seeds at night, and one of them with a hundred queues and 20,000 messages.
it.each([1, 2, 3, 4])(
  'Everything that the inbox accepted is in its queue once and in order, whatever dies or gets lost (seed %i).',
  async (seed) => {
    const { violations, deaths, redelivered } = await runSeed(seed, { queues: 10, messages: 400 })
    expect(violations).toEqual([])
    expect(deaths + redelivered).toBeGreaterThan(0)
  },
)
