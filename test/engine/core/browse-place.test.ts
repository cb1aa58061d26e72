import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { itemId } from '../../../engine/core/keys.ts'
import { lastNumbers } from '../../../engine/core/ranges.ts'
import {
  type BrowseOrder,
  decodeCursor,
  encodeCursor,
  lanesFrom,
  placeOf,
} from '../../../engine/core/views.ts'
import { aLane, aRecord, range } from './a-record.ts'

const orders = ['oldest', 'newest'] as const

describe('A cursor', () => {
  it('is read back as it was written, in its own order alone, and anything else is refused.', () => {
    const places = fc.record({
      priority: fc.nat(),
      epoch: fc.stringMatching(/^[A-Za-z0-9_~]{8}$/),
      sequence: fc.nat(),
    })
    fc.assert(
      fc.property(places, fc.constantFrom(...orders), (place, order) => {
        const cursor = encodeCursor(place, order)
        expect(decodeCursor(cursor, order)).toEqual(place)
        expect(() => decodeCursor(cursor, order === 'oldest' ? 'newest' : 'oldest')).toThrow(
          'cursor',
        )
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          decodeCursor(text, 'oldest')
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_PARAMETER' })
        }
      }),
    )
  })

  const three = aRecord({ 1: aLane(), 4: aLane(), 9: aLane() })
  const place = { priority: 4, epoch: 'epoch-00', sequence: 7 }
  const lanes = (order: BrowseOrder, priority?: number, at?: typeof place) =>
    lanesFrom(three, priority, at, order).map(({ lane, within }) => [
      lane.priority,
      within.from,
      within.to === Number.MAX_SAFE_INTEGER ? 'end' : within.to,
    ])

  it('goes on in its lane and those behind, and at the front of one made anew.', () => {
    expect(lanes('oldest', undefined, place)).toEqual([
      [4, 7, 'end'],
      [9, 0, 'end'],
    ])
    expect(lanes('oldest', 4)).toEqual([[4, 0, 'end']])
    expect(lanes('oldest', undefined, { ...place, epoch: 'epoch-99' })).toEqual([
      [4, 0, 'end'],
      [9, 0, 'end'],
    ])
  })

  it('goes on in its lane and those before it, at their ends, if the newest come first.', () => {
    expect(lanes('newest', undefined, place)).toEqual([
      [4, 0, 8],
      [1, 0, 'end'],
    ])
    expect(lanes('newest')).toEqual([
      [9, 0, 'end'],
      [4, 0, 'end'],
      [1, 0, 'end'],
    ])
  })
})

it('The item to begin at is named by an id, of the priority that is asked for.', () => {
  const place = { priority: 4, epoch: 'epoch_00', sequence: 7 }
  expect(placeOf(itemId(place), undefined)).toEqual(place)
  expect(placeOf(itemId(place), 4)).toEqual(place)
  for (const [from, priority] of [
    ['nonsense', undefined],
    [itemId(place), 5],
  ] as const) {
    expect(() => placeOf(from, priority)).toThrow(expect.objectContaining({ field: 'from' }))
  }
})

it('The last numbers of ranges come from the end, as many as are wanted.', () => {
  const ranges = [range(2, 4), range(7, 9)]
  expect(lastNumbers(ranges, 3)).toEqual([8, 7, 3])
  expect(lastNumbers(ranges, 9)).toEqual([8, 7, 3, 2])
  expect(lastNumbers(ranges, 0)).toEqual([])
})
