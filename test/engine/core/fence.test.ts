import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fenced, isForgettable } from '../../../engine/core/fence.ts'
import { FORGET_AFTER_MS, HOUSEKEEPING_RETRY_MS, MARKS_KEPT } from '../../../engine/core/limits.ts'
import { endLock } from '../../../engine/core/locks.ts'
import {
  type Lane,
  markAfter,
  NEAR_MS,
  patiently,
  type QueueRecord,
} from '../../../engine/core/record.ts'
import { settle } from '../../../engine/core/settling.ts'
import { checkRecount } from '../ledger.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, range, tailOf } from './a-record.ts'

const write = (before: QueueRecord, draft = before, refreshCheckAt = false) =>
  fenced(before, draft, { nowMs, mark: 'newest', refreshCheckAt }).after

const full = { 0: aLane({ tail: tailOf(3) }) }

describe('Every fenced write', () => {
  it('moves the version on, and keeps the last 16 marks.', () => {
    let record = aRecord(full, { version: 1, marks: 'first0' })
    for (let n = 0; n < 40; n += 1) record = write(record)
    expect(record.version).toBe(41)
    expect(record.marks).toHaveLength(6 * MARKS_KEPT)
    expect(markAfter(record, 40)).toBe('newest')
  })

  it('prunes settled items from the tails it touches.', () => {
    const record = aRecord({ 0: aLane({ tail: tailOf(3), frontier: 2 }) })
    const after = write(record, settle(record, [at(0, 0, 2)]))
    expect(after.lanes.get(0)).toMatchObject({ sealed: 2, head: 2 })
    checkRecount(after)
  })

  it('prunes no tail that it appends to, because one update names a list once.', () => {
    const record = aRecord({ 0: aLane({ tail: tailOf(3), frontier: 2 }) })
    const settled = settle(record, [at(0, 0, 2)])
    const lane = settled.lanes.get(0) as Lane
    const lanes = new Map([[0, { ...lane, tail: [...lane.tail, ...tailOf(1)] }]])
    expect(write(record, { ...settled, lanes }).lanes.get(0)?.tail).toHaveLength(4)
  })

  it('lets claims in again.', () => {
    expect(write(aRecord(full, { holdUntilMs: later(5) })).holdUntilMs).toBe(0)
  })

  it('marks the record when it leaves work, and takes the mark away when none is left.', () => {
    const long = aRecord({ 0: aLane({ sealed: 900 }) })
    expect(write(long).work).toBe(true)
    expect(write({ ...aRecord(full), work: true }).work).toBe(false)
  })
})

describe('The timer', () => {
  const locked = (expiresAtMs: number, checkAtMs?: number) =>
    aRecord(full, { locks: new Map([['a', aLock(expiresAtMs, at(0, 0, 1))]]), checkAtMs })
  const cases: readonly [string, QueueRecord, boolean, number | undefined][] = [
    ['is set for the first lock', locked(later(9)), false, later(9)],
    ['is lowered to an earlier one', locked(later(9), later(50)), false, later(9)],
    ['is not raised by the way', locked(later(9), later(3)), false, later(3)],
    ['is raised when asked to', locked(later(9), later(3)), true, later(9)],
    ['stays when the last lock ended', aRecord(full, { checkAtMs: later(3) }), false, later(3)],
    ['is taken away when asked to', aRecord(full, { checkAtMs: later(3) }), true, undefined],
    ['stays due while something acknowledged is to be folded', locked(0, later(3)), true, nowMs],
    [
      'is set for an empty queue to be forgotten',
      aRecord(),
      false,
      patiently(later(FORGET_AFTER_MS)),
    ],
    [
      'comes again for work that is left',
      aRecord({ 0: aLane({ sealed: 900 }) }),
      true,
      patiently(later(HOUSEKEEPING_RETRY_MS)),
    ],
    [
      'becomes prompt for a lock that a patient one would hide',
      locked(later(9), patiently(later(3))),
      false,
      later(2),
    ],
  ]
  it.each(cases)('%s.', (_, record, refresh, expected) => {
    expect(write(record, record, refresh).checkAtMs).toBe(expected)
  })

  it('is announced when it becomes near, and no longer once it is far or gone.', () => {
    const near = later(NEAR_MS - 1)
    expect(write(locked(near), locked(near))).toMatchObject({ checkAtMs: near, near: true })
    expect(write(locked(later(NEAR_MS)), locked(later(NEAR_MS))).near).toBe(false)
    const told = { ...locked(later(200_000), later(3)), near: true }
    expect(write(told, told, false).near).toBe(true)
    expect(write(told, told, true)).toMatchObject({ checkAtMs: later(200_000), near: false })
    const over = { ...aRecord(full, { checkAtMs: later(3) }), near: true }
    expect(write(over, over, true)).toMatchObject({ checkAtMs: undefined, near: false })
  })

  it('is never later than the earliest lock, whatever was written.', () => {
    fc.assert(
      fc.property(anyRecord, fc.boolean(), (record, refresh) => {
        const [lockId] = record.locks.keys()
        const draft = lockId === undefined ? record : endLock(record, lockId, 'released', nowMs)
        checkRecount(write(record, draft, refresh))
      }),
    )
  })
})

it('Only a queue that is empty, unlocked and unconfigured can be forgotten.', () => {
  const configuration = {
    revision: 1,
    source: { from: 'queue' } as const,
    segmentSize: 100,
    bufferSegments: 1,
  }
  const locks = new Map([['a', aLock(0, at(0, 0, 0))]])
  const dead = [{ ...range(0, 3), reason: 'x' }]
  expect(isForgettable(aRecord({ 0: aLane({ head: 3, sealed: 3, frontier: 3 }) }))).toBe(true)
  expect(isForgettable(aRecord(full))).toBe(false)
  expect(isForgettable(aRecord({ 0: aLane({ tail: tailOf(3), frontier: 3, dead }) }))).toBe(false)
  expect(isForgettable(aRecord({}, { configuration }))).toBe(false)
  expect(isForgettable(aRecord({}, { locks }))).toBe(false)
})
