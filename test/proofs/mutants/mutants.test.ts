import { describe, expect, it } from 'vitest'
import { mutants } from './all.ts'
import { describeKiller } from './mutant.ts'
import { patched, root } from './workspace.ts'

/** That each is killed takes minutes: `npm run mutants`. That none has lost its place is seen here. */
describe('Every mutant', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s still finds its place.',
    async (_, mutant) => {
      expect((await patched(mutant, root)).size).toBeGreaterThan(0)
    },
  )

  it('has a name of its own, a killer, and a fault of its own.', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
    expect(new Set(mutants.map(({ edits }) => JSON.stringify(edits))).size).toBe(mutants.length)
    for (const { killers, edits } of mutants) {
      expect(killers.map(describeKiller)).not.toEqual([])
      for (const { find, replace } of edits) expect(replace).not.toBe(find)
    }
  })
})
