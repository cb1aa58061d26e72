import { describe, expect, it } from 'vitest'
import { rateMutants } from './rate.ts'
import { patched, root } from './workspace.ts'

/** That each is killed takes minutes: `node test/proofs/mutants/run-rate.ts`. That none has lost its place is seen here. */
describe('Every mutant of the rate limiter', () => {
  it.each(rateMutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s still finds its place.',
    async (_, mutant) => {
      expect((await patched(mutant, root)).size).toBeGreaterThan(0)
    },
  )

  it('has a name and a fault of its own.', () => {
    expect(new Set(rateMutants.map(({ name }) => name)).size).toBe(rateMutants.length)
    expect(new Set(rateMutants.map(({ edits }) => JSON.stringify(edits))).size).toBe(
      rateMutants.length,
    )
  })
})
