import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mutants } from './all.ts'
import { describeBreaks, describeKiller, guarantee, rule } from './mutant.ts'
import { Sources } from './places.ts'
import { root } from './workspace.ts'

/** That each is killed takes minutes: `npm run mutants`. That none has lost its place is seen here. */
describe('Every mutant', async () => {
  const sources = await Sources.in(root)

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    '%s still finds its place.',
    (_, mutant) => {
      expect(sources.patchedBy(mutant).size).toBeGreaterThan(0)
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

describe('The rules and guarantees of docs/architecture.md', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const numbersUnder = (heading: string): number[] => {
    const [, section = ''] = page.split(`\n## ${heading}\n`)
    return [...section.replace(/\n## [\s\S]*/, '').matchAll(/^(\d+)\. /gm)].map(([, n]) =>
      Number(n),
    )
  }
  const told = [
    ...numbersUnder('The rules').map(rule),
    ...numbersUnder('Guarantees').map(guarantee),
  ].map(describeBreaks)
  const broken = mutants
    .map(({ breaks }) => breaks)
    .filter((breaks) => 'number' in breaks)
    .map(describeBreaks)

  it('are each broken by a mutant.', () => {
    expect(told).toEqual(expect.arrayContaining(['rule 1', 'guarantee 1']))
    expect(told.filter((one) => !broken.includes(one))).toEqual([])
  })

  it('are what the numbers of mutants stand for.', () => {
    expect(broken.filter((one) => !told.includes(one))).toEqual([])
  })
})
