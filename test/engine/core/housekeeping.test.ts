import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  housekeepingDue,
  movePointers,
  planHousekeeping,
  toOffload,
  toRecall,
  toTrim,
} from '../../../engine/core/housekeeping.ts'
import { encodeReference } from '../../../engine/core/item.ts'
import type { Run } from '../../../engine/core/record.ts'
import { endOf, type Lane, segmentOf } from '../../../engine/core/record.ts'
import { aLane, aRecord, range, tailOf } from './a-record.ts'

const none = range(0, 0)
const lane = (changes: Partial<Lane>): Lane => aLane({ segmentSize: 10, ...changes })
const batch = (count: number) =>
  encodeReference({ storage: 'rows', batch: 'batch-00', count, partItems: 100, partBytes: [] })

/** A hundred numbers of each kind. */
const runs = (...places: Run['in'][]): Run[] =>
  places.map((place, i) => ({ from: 100 * i, to: 100 * (i + 1), in: place }))

describe('Offloading is planned', () => {
  const cases: readonly [string, Lane, number, typeof none][] = [
    ['for full segments beyond the buffer', lane({ sealed: 100 }), 1, range(2, 10)],
    ['for wholly sealed ones alone', lane({ sealed: 58, tail: tailOf(40) }), 1, range(2, 5)],
    ['never for fewer than two', lane({ sealed: 39 }), 1, none],
    ['after the buffer of the frontier', lane({ sealed: 100, frontier: 35 }), 2, range(6, 10)],
    ['on from what is there', lane({ sealed: 100, offloaded: range(2, 6) }), 1, range(6, 10)],
    ['not where the frontier is too near', lane({ sealed: 100, frontier: 80 }), 1, none],
    [
      'not for what lies in batches',
      lane({ sealed: 200, runs: runs('rows', 'batch-rows') }),
      1,
      range(2, 10),
    ],
    ['behind batches', lane({ sealed: 200, runs: runs('batch-s3', 'rows') }), 1, range(10, 20)],
    [
      'not behind batches until what is in S3 is used up',
      lane({ sealed: 300, runs: runs('rows', 'batch-s3', 'rows'), offloaded: range(2, 10) }),
      1,
      none,
    ],
    [
      'for what the record does not know',
      lane({ sealed: 100, runs: runs('unknown') }),
      1,
      range(2, 10),
    ],
    ['not behind a gap', lane({ sealed: 200, frontier: 90, offloaded: range(2, 6) }), 1, none],
  ]
  it.each(cases)('%s.', (_, of, buffer, expected) => {
    expect(toOffload(of, buffer)).toEqual(expected)
  })
})

describe('Recalling is planned', () => {
  const offloaded = range(3, 12)
  const cases: readonly [string, Lane, typeof none][] = [
    ['for nothing where nothing is offloaded', lane({ sealed: 100 }), none],
    ['for nothing while the frontier is far', lane({ offloaded, frontier: 19 }), none],
    ['up to the buffer', lane({ offloaded, frontier: 20 }), range(3, 4)],
    ['on from what was recalled', lane({ offloaded, recalled: 4, frontier: 45 }), range(4, 6)],
    ['not behind the head', lane({ offloaded, head: 72, frontier: 75 }), range(7, 9)],
    ['not beyond what is offloaded', lane({ offloaded, head: 110, frontier: 115 }), range(11, 12)],
  ]
  it.each(cases)('%s.', (_, of, expected) => {
    expect(toRecall(of, 1)).toEqual(expected)
  })
})

describe('Trimming is planned', () => {
  const cases: readonly [string, Lane, typeof none][] = [
    ['for whole segments behind the head', lane({ head: 35, sealed: 60 }), range(0, 3)],
    ['on from what was trimmed', lane({ head: 35, sealed: 60, trimmed: 2 }), range(2, 3)],
    ['not for the segment of the head', lane({ head: 9, sealed: 60 }), none],
    ['not beyond what is sealed', lane({ head: 35, sealed: 15, tail: tailOf(40) }), range(0, 1)],
  ]
  it.each(cases)('%s.', (_, of, expected) => {
    expect(toTrim(of)).toEqual(expected)
  })
})

describe('A plan', () => {
  it('of a short queue is nothing.', () => {
    const record = aRecord({ 0: aLane({ tail: tailOf(5) }), 3: aLane() })
    expect(planHousekeeping(record)).toEqual({
      seal: false,
      offload: [],
      recall: [],
      trim: [],
      tails: [],
      dead: [],
      drop: [],
    })
    expect(housekeepingDue(record)).toBe(false)
  })

  it('finds each task by its lane.', () => {
    const dead = [{ ...range(0, 1), reason: 'a' }]
    const record = aRecord({
      0: lane({ sealed: 100 }),
      1: lane({ head: 25, frontier: 25, sealed: 30 }),
      2: lane({ sealed: 5, frontier: 1, dead }),
      3: lane({ head: 7, frontier: 7, tail: [batch(7), ...tailOf(2)] }),
    })
    const plan = planHousekeeping(record)
    expect(plan.offload).toEqual([{ priority: 0, segments: range(2, 10) }])
    expect(plan.trim).toEqual([{ priority: 1, segments: range(0, 2) }])
    expect(plan.dead).toEqual([2])
    expect(plan.tails).toEqual([3])
    expect(housekeepingDue(record)).toBe(true)
  })

  it('drops empty lanes when they are many, or when room is wanted.', () => {
    const empties = (count: number) =>
      aRecord(Object.fromEntries(Array.from({ length: count }, (_, p) => [p, aLane()])))
    expect(planHousekeeping(empties(32)).drop).toEqual([])
    expect(planHousekeeping(empties(33)).drop).toHaveLength(33)
    expect(planHousekeeping(empties(2), true).drop).toEqual([0, 1])
  })
})

const lanes = fc
  .record({
    size: fc.integer({ min: 1, max: 6 }),
    trimmed: fc.nat(5),
    headMore: fc.nat(30),
    frontierMore: fc.nat(20),
    sealedMore: fc.nat(60),
    tail: fc.nat(5),
    offloadedFrom: fc.nat(8),
    offloadedCount: fc.nat(8),
    recalledMore: fc.nat(4),
  })
  .map((n) => {
    const head = n.trimmed * n.size + n.headMore
    const frontier = head + n.frontierMore
    const sealed = frontier + n.sealedMore
    const last = Math.floor(sealed / n.size)
    const from = Math.min(n.trimmed + n.offloadedFrom, last)
    const offloaded = range(from, Math.min(from + n.offloadedCount, last))
    const isEmpty = offloaded.from >= offloaded.to
    return aLane({
      segmentSize: n.size,
      trimmed: n.trimmed,
      head,
      frontier,
      sealed,
      tail: tailOf(n.tail),
      offloaded: isEmpty ? none : offloaded,
      recalled: isEmpty ? 0 : Math.min(from + n.recalledMore, offloaded.to),
    })
  })

/** The rules that a lane's pointers keep, whatever was done in whatever order. */
function expectSound(next: Lane, before: Lane): void {
  expect(next.trimmed).toBeGreaterThanOrEqual(before.trimmed)
  expect(next.trimmed).toBeLessThanOrEqual(segmentOf(next, next.head))
  const { from, to } = next.offloaded
  if (from < to) {
    expect(from).toBeGreaterThanOrEqual(next.trimmed)
    expect(to).toBeLessThanOrEqual(segmentOf(next, next.sealed))
    expect(next.recalled).toBeLessThanOrEqual(to)
  }
  expect([next.head, next.frontier, endOf(next)]).toEqual([
    before.head,
    before.frontier,
    endOf(before),
  ])
}

it('For any lane, the planned work is sound, and in the end nothing is left to do.', () => {
  fc.assert(
    fc.property(lanes, fc.integer({ min: 1, max: 3 }), (first, bufferSegments) => {
      const configuration = {
        revision: 1,
        source: { from: 'queue' } as const,
        segmentSize: 9,
        bufferSegments,
      }
      let record = aRecord({ 0: first }, { configuration })
      for (let round = 0; round < 9 && housekeepingDue(record); round += 1) {
        const before = record.lanes.get(0) as Lane
        const { offload, recall, trim } = planHousekeeping(record)
        record = movePointers(record, [
          {
            priority: 0,
            epoch: before.epoch,
            ...(trim[0] && { trimmed: trim[0].segments }),
            ...(recall[0] && { recalled: recall[0].segments }),
            ...(offload[0] && { offloaded: offload[0].segments }),
          },
        ])
        expectSound(record.lanes.get(0) as Lane, before)
      }
      expect(housekeepingDue(record)).toBe(false)
    }),
  )
})

describe('Newly offloaded segments join those that are there', () => {
  const there = lane({ sealed: 200, offloaded: range(2, 6) })
  const cases: readonly [string, Lane, typeof none, typeof none][] = [
    ['where it follows on', there, range(6, 10), range(2, 10)],
    ['where another run was faster', there, range(4, 10), range(2, 10)],
    ['not behind a gap', there, range(7, 10), range(2, 6)],
    ['not where all of it is there', there, range(3, 6), range(2, 6)],
    ['not where the frontier has come near', { ...there, frontier: 55 }, range(6, 10), range(2, 6)],
  ]
  it.each(cases)('%s.', (_, before, offloaded, expected) => {
    const work = { priority: 0, epoch: before.epoch, offloaded }
    const after = movePointers(aRecord({ 0: before }), [work])
    expect(after.lanes.get(0)?.offloaded).toEqual(expected)
  })
})

it('Work that was planned from another state than it meets is sound all the same.', () => {
  fc.assert(
    fc.property(lanes, lanes, (old, now) => {
      const lane = {
        ...now,
        segmentSize: old.segmentSize,
        trimmed: 0,
        offloaded: none,
        recalled: 0,
      }
      const plan = planHousekeeping(aRecord({ 0: old }))
      // Trimming is planned from heads that only grow.
      const grown = { ...lane, head: Math.max(lane.head, old.head) }
      const frontier = Math.max(grown.head, lane.frontier)
      const current = { ...grown, frontier, sealed: Math.max(frontier, lane.sealed, old.sealed) }
      const record = movePointers(aRecord({ 0: current }), [
        {
          priority: 0,
          epoch: old.epoch,
          ...(plan.trim[0] && { trimmed: plan.trim[0].segments }),
          ...(plan.offload[0] && { offloaded: plan.offload[0].segments }),
        },
      ])
      expectSound(record.lanes.get(0) as Lane, current)
      const other = movePointers(aRecord({ 0: current }), [
        { priority: 0, epoch: 'another0', trimmed: range(0, 5), dropAt: 0 },
      ])
      expect(other.lanes.get(0)).toBe(current)
    }),
  )
})
