import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkOutlasts, expiresAtMsOf } from '../../../engine/core/check-requests.ts'
import {
  expiryOf,
  hasExpired,
  nothingFound,
  passOver,
  sortOut,
} from '../../../engine/core/expiry.ts'
import { encodeItem, type Item } from '../../../engine/core/item.ts'
import { numbersOf, skip } from '../../../engine/core/ranges.ts'
import { freeIn, itemsIn, type Lane, stretchesOf } from '../../../engine/core/record.ts'
import { defaultConfiguration } from '../../../engine/core/settings.ts'
import { aLane, aRecord, nowMs } from './a-record.ts'

const pushed = { text: '1', pushedAtMs: 1_000_000 }
const deadAt = (deadLetteredAtMs: number) => ({ reason: 'r', deadLetteredAtMs })

describe('An item expires', () => {
  const rows: readonly (readonly [string, Item, number | undefined, number | undefined])[] = [
    ['never, unless somebody says so', pushed, undefined, undefined],
    ['at its own time', { ...pushed, expiresAtMs: 1_005_000 }, undefined, 1_005_000],
    ['its queue’s time after its push', pushed, 60, 1_060_000],
    ['its queue’s time after it was due', { ...pushed, dueMs: 2_000_000 }, 60, 2_060_000],
    [
      'its queue’s time after its push, where it was due before',
      { ...pushed, dueMs: 1 },
      60,
      1_060_000,
    ],
    ['its queue’s time after its redrive', { ...pushed, redrivenMs: 2_000_000 }, 60, 2_060_000],
    ['its queue’s time after its death', { ...pushed, ...deadAt(3_000_000) }, 60, 3_060_000],
    ['at the earlier of two times, its own', { ...pushed, expiresAtMs: 1_005_000 }, 60, 1_005_000],
    [
      'at the earlier of two times, its queue’s',
      { ...pushed, expiresAtMs: 9_000_000 },
      60,
      1_060_000,
    ],
  ]
  it.each(rows)('%s.', (_, item, itemTtlSeconds, expected) => {
    const settings = itemTtlSeconds === undefined ? {} : { itemTtlSeconds }
    expect(expiryOf(item, settings)).toBe(expected)
  })
})

describe('The expiry that a push asks for', () => {
  it('counts from now, or from when it was handed in.', () => {
    expect(expiresAtMsOf({ expiresInSeconds: 5 }, 1_000)).toBe(6_000)
    expect(expiresAtMsOf({ expiresInSeconds: 5, sinceMs: 200 }, 1_000)).toBe(5_200)
    expect(expiresAtMsOf({ expiresAtMs: 7.9 }, 1_000)).toBe(7)
    expect(expiresAtMsOf({ expiresAtMs: 0 }, 1_000)).toBe(0)
    expect(expiresAtMsOf({}, 1_000)).toBeUndefined()
  })

  it('is refused if the item is due no earlier than that.', () => {
    const refuse = (item: Parameters<typeof checkOutlasts>[0]) => () =>
      checkOutlasts(item, 61_000, 1_000, 'items[2].')
    expect(refuse({ expiresInSeconds: 60 })).toThrow('items[2].expires_in_seconds must reach')
    expect(refuse({ expiresAtMs: 61_000 })).toThrow('items[2].expires_at must be later')
    expect(refuse({ expiresInSeconds: 61 })).not.toThrow()
    expect(refuse({})).not.toThrow()
  })
})

/** A lane of items, of which some are over. */
const lanes = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 })
const laneOf = (over: readonly boolean[]) => {
  const tail = over.map((isIt, n) =>
    encodeItem(
      { text: String(n), pushedAtMs: nowMs - 9_000, expiresAtMs: isIt ? nowMs : nowMs + 1 },
      'tag1',
    ),
  )
  return { tail, record: aRecord({ 0: aLane({ tail }) }) }
}

describe('Sorting out', () => {
  const bounds = fc.record({
    wanted: fc.integer({ min: 1, max: 10 }),
    passable: fc.integer({ min: 0, max: 10 }),
    bytesMax: fc.integer({ min: 1, max: 2_000 }),
  })

  it('keeps order, takes what is not over, passes over what is, and stops at its bounds.', () => {
    fc.assert(
      fc.property(lanes, bounds, (over, { wanted, passable, bytesMax }) => {
        const { tail, record } = laneOf(over)
        const stretches = stretchesOf(0, [{ from: 0, to: tail.length }])
        const bytesOf = (entry: string) => entry.length
        const found = sortOut(record, nothingFound, { stretches, entries: tail }, nowMs, {
          wanted,
          passable,
          bytesMax,
          bytesOf,
        })
        const seen = Array.from({ length: found.looked }, (_, n) => n)
        expect([...numbersOf(found.over)]).toEqual(seen.filter((n) => over[n]))
        expect([...numbersOf(found.kept)]).toEqual(seen.filter((n) => !over[n]))
        expect(found.entries).toEqual(seen.filter((n) => !over[n]).map((n) => tail[n]))
        expect(itemsIn(found.over)).toBeLessThanOrEqual(passable)
        expect(found.entries.length).toBeLessThanOrEqual(wanted)
        const bytes = found.entries.reduce((sum, entry) => sum + bytesOf(entry), 0)
        expect(found.entries.length <= 1 || bytes <= bytesMax).toBe(true)
        if (found.looked < tail.length) expect(found.isFull).toBe(true)
      }),
    )
  })

  it('in two reads comes to what one would have.', () => {
    fc.assert(
      fc.property(lanes, bounds, fc.nat(40), (over, some, cut) => {
        const { tail, record } = laneOf(over)
        const all = stretchesOf(0, [{ from: 0, to: tail.length }])
        const bounds = { ...some, bytesOf: (entry: string) => entry.length }
        const at = Math.min(cut, tail.length)
        const first = { stretches: all, entries: tail.slice(0, at) }
        const once = sortOut(record, nothingFound, { stretches: all, entries: tail }, nowMs, bounds)
        const half = sortOut(record, nothingFound, first, nowMs, bounds)
        if (half.looked < at) return
        const rest = { stretches: skip(all, at), entries: tail.slice(at) }
        const twice = sortOut(record, half, rest, nowMs, bounds)
        expect({ ...twice, isFull: once.isFull }).toEqual(once)
      }),
    )
  })

  it('leaves none of those that it passes over, and all others.', () => {
    fc.assert(
      fc.property(lanes, fc.boolean(), (over, dead) => {
        const { tail, record: discarding } = laneOf(over)
        const record = dead
          ? {
              ...discarding,
              configuration: { ...defaultConfiguration, expired: 'dead_letter' as const },
            }
          : discarding
        const numbers = tail.flatMap((_, n) => (over[n] ? [{ from: n, to: n + 1 }] : []))
        const after = passOver(record, stretchesOf(0, numbers))
        const lane = after.lanes.get(0) as Lane
        expect([...numbersOf(freeIn(after, lane))]).toEqual(
          tail.flatMap((_, n) => (over[n] ? [] : [n])),
        )
        expect(after.room - record.room).toBe(dead ? 0 : numbers.length)
        expect(lane.dead.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(
          dead ? numbers.length : 0,
        )
        expect(lane.deliveries).toEqual([])
        expect(lane.frontier).toBeGreaterThanOrEqual(lane.head)
      }),
    )
  })
})

it('An entry without an expiry is never over.', () => {
  const record = aRecord()
  expect(hasExpired(encodeItem(pushed, 'tag1'), record, Number.MAX_SAFE_INTEGER)).toBe(false)
})
