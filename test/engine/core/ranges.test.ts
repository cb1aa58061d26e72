import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  countOf,
  includes,
  intersect,
  none,
  normalised,
  numbersOf,
  type Ranges,
  subtract,
  take,
  unflatten,
  union,
} from '../../../engine/core/ranges.ts'

/** Any list of ranges, and the set of numbers that it stands for. */
const anyList = fc.array(
  fc.tuple(fc.nat(30), fc.nat(6)).map(([from, length]) => ({ from, to: from + length })),
  { maxLength: 8 },
)
const setOf = (ranges: Ranges): Set<number> => new Set(numbersOf(ranges))
const sorted = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b)

function expectCanonical(ranges: Ranges): void {
  for (const [index, { from, to }] of ranges.entries()) {
    expect(from).toBeLessThan(to)
    const next = ranges[index + 1]
    if (next !== undefined) expect(to).toBeLessThan(next.from)
  }
}

describe('Whatever the ranges, they do as sets do:', () => {
  it('normalised keeps the numbers, sorted and disjoint.', () => {
    fc.assert(
      fc.property(anyList, (list) => {
        expectCanonical(normalised(list))
        expect(sorted(numbersOf(normalised(list)))).toEqual(sorted(setOf(list)))
      }),
    )
  })

  it('union, subtract and intersect, and their counts.', () => {
    fc.assert(
      fc.property(anyList, anyList, (first, second) => {
        const [a, b] = [normalised(first), normalised(second)]
        const [as, bs] = [setOf(a), setOf(b)]
        for (const [actual, expected] of [
          [union(a, b), new Set([...as, ...bs])],
          [subtract(a, b), new Set([...as].filter((n) => !bs.has(n)))],
          [intersect(a, b), new Set([...as].filter((n) => bs.has(n)))],
        ] as const) {
          expectCanonical(actual)
          expect(sorted(numbersOf(actual))).toEqual(sorted(expected))
          expect(countOf(actual)).toBe(expected.size)
        }
      }),
    )
  })

  it('take gives the smallest, and subtract the rest.', () => {
    fc.assert(
      fc.property(anyList, fc.nat(40), (list, count) => {
        const all = normalised(list)
        const taken = take(all, count)
        const numbers = sorted(numbersOf(all))
        expect([...numbersOf(taken)]).toEqual(numbers.slice(0, count))
        expect([...numbersOf(subtract(all, taken))]).toEqual(numbers.slice(count))
      }),
    )
  })

  it('includes and unflatten.', () => {
    expect(unflatten(undefined)).toEqual(none)
    fc.assert(
      fc.property(anyList, fc.nat(40), (list, n) => {
        const all = normalised(list)
        expect(includes(all, n)).toBe(setOf(all).has(n))
        expect(unflatten(all.flatMap(({ from, to }) => [from, to]))).toEqual(all)
      }),
    )
  })
})
