import fc from 'fast-check'
import { expect, it } from 'vitest'
import { countOf, numbersOf } from '../../../engine/core/ranges.ts'
import { countIn, etagOf, laneView, lockedNow, visibleIn } from '../../../engine/core/views.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, range, tailOf } from './a-record.ts'

const lane = aLane({
  segmentSize: 4,
  head: 2,
  frontier: 12,
  sealed: 40,
  tail: tailOf(3),
  holes: [range(4, 5)],
  dead: [{ ...range(5, 6), reason: 'x' }],
  runs: [
    { ...range(0, 8), in: 'rows' },
    { ...range(8, 14), in: 'unknown' },
    { ...range(14, 38), in: 'batch-s3' },
    { ...range(38, 40), in: 'batch-rows' },
  ],
  offloaded: range(5, 9),
  recalled: 6,
})
const locks = new Map([
  ['live', aLock(later(5), at(0, 6, 8))],
  ['expired', aLock(later(-5), at(0, 8, 10))],
  ['done', aLock(0, at(0, 10, 12))],
])
const record = aRecord({ 0: lane, 3: aLane() }, { locks })

it('Visible items are neither settled nor dead nor acknowledged.', () => {
  const visible = visibleIn(record, lane)
  expect([...numbersOf(visible)].slice(0, 8)).toEqual([2, 3, 6, 7, 8, 9, 12, 13])
  expect([...numbersOf(lockedNow(record, 0, visible, nowMs))]).toEqual([6, 7])
  expect(countIn(record)).toBe(countOf(visible))
})

it('A lane shows its segments and where its items lie, as far as the record knows.', () => {
  expect(laneView(record, lane)).toEqual({
    priority: 0,
    count: 37,
    headSegment: 0,
    tailSegment: 10,
    headOffloadedSegment: 6,
    tailOffloadedSegment: 8,
    epoch: lane.epoch,
    segmentSize: 4,
    head: 2,
    frontier: 12,
    sealed: 40,
    end: 43,
    stored: [
      { from: 2, to: 8, in: 'rows' },
      { from: 14, to: 20, in: 'batch-s3' },
      { from: 20, to: 24, in: 'recalled' },
      { from: 24, to: 36, in: 's3' },
      { from: 36, to: 38, in: 'batch-s3' },
      { from: 38, to: 40, in: 'batch-rows' },
      { from: 40, to: 43, in: 'record' },
    ],
  })
  expect(laneView(record, aLane({ priority: 3 }))).toMatchObject({
    priority: 3,
    end: 0,
    stored: [],
  })
  expect(laneView(record, aLane({ priority: 3 }))).not.toHaveProperty('headOffloadedSegment')
})

it('An ETag differs between records that differ in what moves beside the version.', () => {
  const tags = [
    record,
    { ...record, version: 8 },
    { ...record, appends: 4 },
    { ...record, claims: 3 },
    { ...record, born: 'other-00' },
    { ...record, locks: new Map([...locks, ['more', aLock(0, at(0, 12, 13))] as const]) },
  ].map(etagOf)
  expect(new Set(tags).size).toBe(tags.length)
  for (const tag of tags) expect(tag).toMatch(/^"[A-Za-z0-9._~-]+"$/)
})

it('For any record, no more items are locked than visible.', () => {
  fc.assert(
    fc.property(anyRecord, (any) => {
      for (const [priority, of] of any.lanes) {
        const visible = visibleIn(any, of)
        const locked = lockedNow(any, priority, visible, nowMs)
        expect(countOf(locked)).toBeLessThanOrEqual(countOf(visible))
      }
    }),
  )
})
