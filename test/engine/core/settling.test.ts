import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeReference, entryBytes } from '../../../engine/core/item.ts'
import { countOf, intersect, normalised, numbersOf, subtract } from '../../../engine/core/ranges.ts'
import {
  deliveriesOf,
  endOf,
  freeIn,
  type QueueRecord,
  type Stretch,
  unsettledIn,
} from '../../../engine/core/record.ts'
import {
  bury,
  DELIVERY_PIECES_MAX,
  dropSettledTail,
  giveBack,
  pruneTail,
  settle,
} from '../../../engine/core/settling.ts'
import { aLane, anyRecord, aRecord, at, range, tailOf } from './a-record.ts'

const laneOf = (record: QueueRecord, priority = 0) => {
  const lane = record.lanes.get(priority)
  if (lane === undefined) throw new Error('unreachable')
  return lane
}

const reference = encodeReference({
  storage: 'rows',
  batch: 'batch-00',
  count: 50,
  partItems: 100,
  partBytes: [],
})

describe('Settling', () => {
  const lane = aLane({ head: 10, frontier: 20, sealed: 30 })
  it('forgets deliveries and deadness of what is settled, and of nothing else.', () => {
    const deliveries = [{ ...range(10, 16), count: 2 }]
    const dead = [{ ...range(12, 14), reason: 'a' }]
    const after = settle(aRecord({ 0: { ...lane, deliveries, dead } }), [at(0, 11, 13)])
    expect(laneOf(after).deliveries).toEqual([
      { ...range(10, 11), count: 2 },
      { ...range(13, 16), count: 2 },
    ])
    expect(laneOf(after).dead).toEqual([{ ...range(13, 14), reason: 'a' }])
  })
})

describe('Giving back', () => {
  const lane = aLane({ head: 0, frontier: 10, sealed: 10 })
  it('raises the deliveries of each item by one, and tells claims.', () => {
    const record = aRecord({ 0: { ...lane, deliveries: [{ ...range(2, 4), count: 3 }] } })
    const after = giveBack(record, [at(0, 1, 6)])
    expect(laneOf(after).deliveries).toEqual([
      { ...range(1, 2), count: 1 },
      { ...range(2, 4), count: 4 },
      { ...range(4, 6), count: 1 },
    ])
    expect(after.returns).toBe(record.returns + 1)
    expect(after.room).toBe(record.room)
  })

  it('makes dead what came back too often, once it has.', () => {
    const configuration = {
      revision: 1,
      source: { from: 'queue' } as const,
      segmentSize: 100,
      bufferSegments: 1,
      maxDeliveries: 2,
    }
    const record = aRecord({ 0: lane }, { configuration })
    const once = giveBack(record, [at(0, 0, 3)])
    expect(laneOf(once).dead).toEqual([])
    const twice = giveBack(once, [at(0, 1, 2)])
    expect(laneOf(twice).dead).toEqual([{ ...range(1, 2), reason: 'max_deliveries' }])
    expect(freeIn(twice, laneOf(twice))).toEqual([range(0, 1), range(2, 10)])
    const onDeadLetters = { ...once, queue: 'orders-deadletter' }
    expect(laneOf(giveBack(onDeadLetters, [at(0, 1, 2)])).dead).toEqual([])
  })
})

describe('The tail', () => {
  it('is pruned of settled items at its front, and up to a reference.', () => {
    const tail = [...tailOf(3), reference, ...tailOf(2)]
    const lane = aLane({ head: 60, frontier: 60, sealed: 7, tail })
    const pruned = pruneTail(lane, 99)
    expect(pruned.lane).toMatchObject({ sealed: 10, tail: tail.slice(3) })
    expect(pruned.bytes).toBe(tail.slice(0, 3).reduce((sum, entry) => sum + entryBytes(entry), 0))
  })

  it('keeps an item that is not settled, and all behind it.', () => {
    const lane = aLane({ head: 8, frontier: 9, sealed: 7, tail: tailOf(3) })
    expect(pruneTail(lane, 99).lane).toMatchObject({ sealed: 8, tail: lane.tail.slice(1) })
    const none = aLane({ head: 7, sealed: 7, tail: tailOf(3) })
    expect(pruneTail(none, 99)).toEqual({ lane: none, bytes: 0 })
    expect(pruneTail({ ...none, head: 10 }, 2).lane.sealed).toBe(9)
  })

  it('loses a settled reference only once its rows are gone.', () => {
    const tail = [reference, ...tailOf(2)]
    const lane = aLane({ head: 51, frontier: 51, sealed: 0, tail })
    expect(dropSettledTail(lane, 0).lane).toBe(lane)
    expect(dropSettledTail(lane, 50).lane).toMatchObject({ sealed: 51, tail: tail.slice(2) })
    const half = { ...lane, head: 30 }
    expect(dropSettledTail(half, 50).lane).toBe(half)
  })
})

const anyStretches = (record: QueueRecord): fc.Arbitrary<Stretch[]> => {
  const priorities = [...record.lanes.keys(), 99]
  return fc.array(
    fc
      .tuple(fc.constantFrom(...priorities), fc.nat(80), fc.nat(10))
      .map(([priority, from, count]) => ({
        priority,
        from,
        to: from + count,
      })),
    { maxLength: 6 },
  )
}
const recordAndStretches = anyRecord.chain((record) =>
  fc.tuple(fc.constant(record), anyStretches(record)),
)

describe('Whatever the record and the stretches,', () => {
  it('settling takes exactly those out that were there, and frees as much room.', () => {
    fc.assert(
      fc.property(recordAndStretches, ([record, stretches]) => {
        const after = settle(record, stretches)
        let settled = 0
        for (const [priority, lane] of record.lanes) {
          const own = normalised(stretches.filter((stretch) => stretch.priority === priority))
          const next = laneOf(after, priority)
          expect(unsettledIn(next)).toEqual(subtract(unsettledIn(lane), own))
          settled += countOf(intersect(unsettledIn(lane), own))
          expect(endOf(next)).toBe(endOf(lane))
          if (own.length > 0) expect(next.holes).toEqual(normalised(next.holes))
          // A head never stands on a hole.
          expect(next.holes[0]?.from ?? Number.POSITIVE_INFINITY).toBeGreaterThan(next.head)
        }
        expect(after.room - record.room).toBe(settled)
        expect([...after.lanes.keys()]).toEqual([...record.lanes.keys()])
        expect(settle(after, stretches)).toEqual(after)
      }),
    )
  })

  it('giving back counts each item once more, and leaves it where it is.', () => {
    fc.assert(
      fc.property(recordAndStretches, ([record, stretches]) => {
        const after = giveBack(record, stretches)
        for (const [priority, lane] of record.lanes) {
          const next = laneOf(after, priority)
          expect(unsettledIn(next)).toEqual(unsettledIn(lane))
          const own = normalised(stretches.filter((stretch) => stretch.priority === priority))
          const back = new Set(numbersOf(intersect(unsettledIn(lane), own)))
          for (const n of numbersOf(unsettledIn(lane))) {
            expect(deliveriesOf(next, n) - deliveriesOf(lane, n)).toBe(back.has(n) ? 1 : 0)
          }
        }
      }),
    )
  })

  it('burying hides exactly those from pops, in order.', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const [first] = record.lanes
        if (first === undefined) return
        const [priority, lane] = first
        const free = freeIn(record, lane)
        const stretches = free.map((piece) => ({ ...piece, priority }))
        const after = bury(record, stretches, 'why')
        const next = laneOf(after, priority)
        expect(freeIn(after, next)).toEqual([])
        expect(countOf(next.dead) - countOf(lane.dead)).toBe(countOf(free))
        const starts = next.dead.map(({ from }) => from)
        expect(starts).toEqual([...starts].sort((a, b) => a - b))
      }),
    )
  })
})

describe('The record has so many pieces of delivery counts, and one more for each lane,', () => {
  const total = (record: QueueRecord): number =>
    [...record.lanes.values()].reduce((sum, { deliveries }) => sum + deliveries.length, 0)
  /** 80 of each lane's first 160 items, every second one. */
  const alternating = (priority: number): Stretch[] =>
    Array.from({ length: 80 }, (_, n) => at(priority, 2 * n, 2 * n + 1))
  const lanesOf = (count: number) =>
    aRecord(
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [n, aLane({ sealed: 200, frontier: 200 })]),
      ),
    )

  it('if one write gives back items of many lanes.', () => {
    const all = Array.from({ length: 50 }, (_, n) => alternating(n)).flat()
    expect(total(giveBack(lanesOf(50), all))).toBeLessThanOrEqual(DELIVERY_PIECES_MAX + 50)
    expect(total(bury(lanesOf(50), all, 'no'))).toBeLessThanOrEqual(DELIVERY_PIECES_MAX + 50)
  })

  it('if many writes do.', () => {
    let record = lanesOf(100)
    for (let lane = 0; lane < 100; lane += 1) record = giveBack(record, alternating(lane))
    expect(total(record)).toBeLessThanOrEqual(DELIVERY_PIECES_MAX + 100)
    // No lane forgets the item that came most often.
    for (const { deliveries } of record.lanes.values()) expect(deliveries.length).toBeGreaterThan(0)
  })
})
