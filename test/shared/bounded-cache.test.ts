import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BoundedCache } from '../../shared/system.ts'

it('Keeps what was used last, and forgets what was not.', () => {
  const cache = new BoundedCache<number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.get('a')
  cache.set('c', 3)
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3])
})

it('Does not keep what is larger than all of it, nor what it replaces.', () => {
  const cache = new BoundedCache<number>(10)
  cache.set('a', 1, 4)
  cache.set('a', 2, 11)
  expect(cache.get('a')).toBeUndefined()
  cache.set('b', 3, 10)
  expect(cache.get('b')).toBe(3)
})

it('Never holds more than its size, and always the newest that fit.', () => {
  const steps = fc.array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 8 })), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (sets) => {
      const cache = new BoundedCache<number>(12)
      let expected: [string, number, number][] = []
      for (const [index, [key, size]] of sets.entries()) {
        cache.set(String(key), index, size)
        expected = [...expected.filter(([k]) => k !== String(key)), [String(key), index, size]]
        while (expected.reduce((sum, [, , s]) => sum + s, 0) > 12) expected.shift()
      }
      for (let key = 0; key <= 6; key += 1) {
        const found = expected.find(([k]) => k === String(key))
        expect(cache.get(String(key))).toBe(found?.[1])
        if (found !== undefined) expected = [...expected.filter((e) => e !== found), found]
      }
    }),
  )
})

it('Forgets a value that a caller deletes.', () => {
  const cache = new BoundedCache<string>(3)
  cache.set('a', 'x')
  cache.delete('a')
  cache.delete('b')
  expect(cache.get('a')).toBeUndefined()
})
