import { expect, it } from 'vitest'
import { PartialCache } from '../../../engine/requests/item-reader.ts'

/** A list of texts that count 1,064 bytes each. */
const list = (from: number, to: number): Map<number, string> =>
  new Map(Array.from({ length: to - from }, (_, index) => [from + index, 'x'.repeat(500)]))

const numbersIn = (cache: PartialCache<string>, name: string): number[] =>
  Array.from({ length: 100 }, (_, n) => n).filter((n) => cache.get(name, n) !== undefined)

const range = (from: number, to: number): number[] => [...list(from, to).keys()]

it('Joins pieces of a list that come one after the other.', () => {
  const cache = new PartialCache<string>(100_000)
  cache.add('a', list(0, 3), 0)
  cache.add('a', list(5, 7), 5)
  expect(numbersIn(cache, 'a')).toEqual([0, 1, 2, 5, 6])
  expect(numbersIn(cache, 'b')).toEqual([])
})

it('Keeps of a list that is too large what comes next after the one that was asked for.', () => {
  const cache = new PartialCache<string>(10_700)
  cache.add('a', list(0, 100), 40)
  expect(numbersIn(cache, 'a')).toEqual(range(40, 50))
  cache.add('a', list(0, 100), 50)
  expect(numbersIn(cache, 'a')).toEqual(range(50, 60))
})

it('Fills what is left with what came before.', () => {
  const cache = new PartialCache<string>(10_700)
  cache.add('a', list(0, 4), 0)
  cache.add('a', list(4, 10), 8)
  expect(numbersIn(cache, 'a')).toEqual(range(0, 10))
  cache.add('a', list(10, 14), 10)
  expect(numbersIn(cache, 'a')).toEqual([...range(0, 6), ...range(10, 14)])
})

it('Forgets lists that nobody has used for long, and those that a caller removes.', () => {
  const cache = new PartialCache<string>(10_700)
  cache.add('a', list(0, 6), 0)
  cache.add('b', list(0, 4), 0)
  cache.get('a', 0)
  cache.add('c', list(0, 4), 0)
  expect(['a', 'b', 'c'].map((name) => numbersIn(cache, name).length)).toEqual([6, 0, 4])
  cache.forget('a')
  expect(cache.get('a', 0)).toBeUndefined()
})

it('Keeps no item that is larger than the whole cache, and accepts an empty list.', () => {
  const cache = new PartialCache<string>(1_000)
  cache.add('a', list(0, 1), 0)
  cache.add('b', new Map(), 0)
  expect(numbersIn(cache, 'a')).toEqual([])
})
