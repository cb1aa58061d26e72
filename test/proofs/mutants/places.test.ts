import { expect, it } from 'vitest'
import { type Edit, mutant, rule, within } from './mutant.ts'
import { Sources } from './places.ts'

const sources = new Sources(
  new Map([
    [
      'engine/a/take.ts',
      `
export function take(count: number, room: number): boolean {
  return fits(
    count > room,
    count,
  )
}

const drop = (count: number): boolean => count > 1 || count > 2
`,
    ],
    ['engine/b/put.ts', 'export const drop = (count: number): boolean => count > 1\n'],
  ]),
)

const patched = (...edits: Edit[]): Map<string, string> =>
  sources.patchedBy(mutant('m', rule(1), edits))

it('A mutant finds its condition in a declaration, however it is formatted.', () => {
  const text = patched(within('take', 'fits(count > room, count)', 'true')).get('engine/a/take.ts')
  expect(text).toContain('return true\n}')
})

it('A name that is declared in several files needs the end of the path of its own.', () => {
  const edit = ['count > 1', 'count > 9'] as const
  expect(() => patched(within('drop', ...edit))).toThrow('engine/a/take.ts, engine/b/put.ts')
  expect([...patched(within('put/drop', ...edit)).keys()]).toEqual(['engine/b/put.ts'])
  expect([...patched(within('a/take/drop', ...edit)).keys()]).toEqual(['engine/a/take.ts'])
  expect(() => patched(within('ut/drop', ...edit))).toThrow('there is no ut/drop')
})

it('A mutant that finds its place twice, or not at all, says so.', () => {
  expect(() => patched(within('take', 'count < room', ''))).toThrow('0 times in take')
  expect(() => patched(within('take/drop', 'count >', ''))).toThrow('2 times in take/drop')
  expect(() => patched(within('gone', 'count', ''))).toThrow('there is no gone')
})

it('One edit of a mutant moves the place of no other.', () => {
  const text = patched(
    within('take', 'count > room', 'false'),
    within('take/drop', 'count > 2', 'true'),
  ).get('engine/a/take.ts')
  expect(text).toContain('false,\n    count,')
  expect(text).toContain('count > 1 || true\n')
})
