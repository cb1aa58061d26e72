import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LOCKS_PER_WRITE } from '../../../engine/core/limits.ts'
import {
  doneLocks,
  ENDED_KEPT,
  earliestExpiryMs,
  endExpired,
  endLock,
  expiredLocks,
  foldDone,
  forOneWrite,
  liveLocks,
  standingOf,
} from '../../../engine/core/locks.ts'
import { countOf } from '../../../engine/core/ranges.ts'
import { type Ending, itemsIn, type QueueRecord, unsettledIn } from '../../../engine/core/record.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, range } from './a-record.ts'

/** One lock of each state, so that each test proves that the others stay as they are. */
function aSelection(): QueueRecord {
  const locks = new Map([
    ['live', aLock(later(1), at(0, 0, 2), at(3, 0, 1))],
    ['expired', aLock(nowMs, at(0, 2, 4))],
    ['done', aLock(0, at(0, 4, 7))],
    ['long', aLock(later(60_000), at(3, 1, 2))],
  ])
  const lane = aLane({ frontier: 10, sealed: 20 })
  return aRecord({ 0: lane, 3: lane }, { locks })
}

const unsettled = (record: QueueRecord): number =>
  [...record.lanes.values()].reduce((sum, lane) => sum + countOf(unsettledIn(lane)), 0)

describe('A lock that ends', () => {
  const cases: readonly [Ending, number, object][] = [
    ['acknowledged', 3, { head: 2, deliveries: [], dead: [] }],
    ['released', 0, { head: 0, deliveries: [{ ...range(0, 2), count: 1 }], dead: [] }],
    ['expired', 0, { head: 0, deliveries: [{ ...range(0, 2), count: 1 }], dead: [] }],
    [
      'dead-lettered',
      0,
      {
        head: 0,
        deliveries: [{ ...range(0, 2), count: 1 }],
        dead: [{ ...range(0, 2), reason: 'why' }],
      },
    ],
    ['purged', 0, { head: 0, deliveries: [], dead: [] }],
  ]
  it.each(cases)('%s settles %i items, and is remembered so.', (ending, settled, lane) => {
    const record = aSelection()
    const after = endLock(record, 'live', ending, nowMs, 'why')
    expect([...after.locks.keys()]).toEqual(['expired', 'done', 'long'])
    expect(after.ended).toEqual([{ lockId: 'live', ending, items: 3 }])
    expect(after.lastEndedMs).toBe(nowMs)
    expect(unsettled(record) - unsettled(after)).toBe(settled)
    expect(after.lanes.get(0)).toMatchObject(lane)
  })

  it('is one of the last 16 remembered.', () => {
    let record = aSelection()
    for (let lock = 0; lock < ENDED_KEPT + 4; lock += 1) {
      const locks = new Map(record.locks).set(`lock-${lock}`, aLock(later(5), at(0, 8, 9)))
      record = endLock({ ...record, locks }, `lock-${lock}`, 'released', nowMs)
    }
    expect(record.ended.map(({ lockId }) => lockId)).toEqual(
      Array.from({ length: ENDED_KEPT }, (_, index) => `lock-${index + 4}`),
    )
  })

  it('that is not there changes nothing.', () => {
    const record = aSelection()
    expect(endLock(record, 'other', 'expired', nowMs)).toBe(record)
  })
})

describe('Of one lock of each state', () => {
  it('folding takes the done ones alone.', () => {
    const after = foldDone(aSelection(), nowMs)
    expect([...after.locks.keys()]).toEqual(['live', 'expired', 'long'])
    expect(after.lanes.get(0)).toMatchObject({ holes: [range(4, 7)] })
  })

  it('expiry ends the expired ones alone.', () => {
    const after = endExpired(aSelection(), nowMs)
    expect([...after.locks.keys()]).toEqual(['live', 'done', 'long'])
    expect(after.lanes.get(0)).toMatchObject({ deliveries: [{ ...range(2, 4), count: 1 }] })
  })

  it('one write ends no more than its expression has room for, and one lock always.', () => {
    const narrow = Array.from(
      { length: 100 },
      (_, n) => [`n-${n}`, aLock(1, at(0, n, n + 1))] as const,
    )
    const many = aRecord({}, { locks: new Map(narrow) })
    expect(forOneWrite(many, () => true)).toHaveLength(LOCKS_PER_WRITE)
    const lanes = (from: number) => Array.from({ length: 100 }, (_, n) => at(from + n, 0, 1))
    const wide = [0, 100, 200].map((from) => [`w-${from}`, aLock(1, ...lanes(from))] as const)
    expect(forOneWrite(aRecord({}, { locks: new Map(wide) }), () => true)).toEqual(['w-0'])
    const same = [1, 2, 3].map((n) => [`s-${n}`, aLock(1, ...lanes(0).slice(0, 50))] as const)
    expect(forOneWrite(aRecord({}, { locks: new Map(same) }), () => true)).toHaveLength(3)
  })

  it('one write ends those that ended first, in whatever order DynamoDB hands them over.', () => {
    const locks = Array.from(
      { length: LOCKS_PER_WRITE + 2 },
      (_, n) => [`l-${n + 10}`, aLock(n < 4 ? 1 : n, at(0, n, n + 1))] as const,
    )
    const inOrder = forOneWrite(aRecord({}, { locks: new Map(locks) }), () => true)
    const reversed = forOneWrite(aRecord({}, { locks: new Map(locks.reverse()) }), () => true)
    expect(inOrder).toEqual(reversed)
    expect(inOrder.slice(0, 5)).toEqual(['l-10', 'l-11', 'l-12', 'l-13', 'l-14'])
  })

  it('each is counted where it belongs.', () => {
    const record = aSelection()
    expect(doneLocks(record)).toBe(1)
    expect(expiredLocks(record, nowMs)).toHaveLength(1)
    expect(liveLocks(record, nowMs).map(([lockId]) => lockId)).toEqual(['live', 'long'])
    expect(earliestExpiryMs(record)).toBe(nowMs)
    expect(earliestExpiryMs(aRecord())).toBeUndefined()
  })

  it('each has its standing.', () => {
    const record = aSelection()
    expect(standingOf(record, 'live', nowMs)).toMatchObject({ kind: 'live' })
    expect(standingOf(record, 'done', nowMs)).toEqual({ kind: 'acknowledged', items: 3 })
    const codeOf = (of: QueueRecord | undefined, lockId: string) => {
      const standing = standingOf(of, lockId, nowMs)
      return standing.kind === 'refused' ? standing.error.code : standing.kind
    }
    expect(codeOf(record, 'expired')).toBe('LOCK_EXPIRED')
    expect(codeOf(record, 'other')).toBe('INVALID_LOCK_ID')
    expect(codeOf(aRecord(), 'other')).toBe('LOCK_NOT_FOUND')
    expect(codeOf(undefined, 'other')).toBe('LOCK_NOT_FOUND')
    for (const ending of ['expired', 'released', 'dead-lettered', 'purged'] as const) {
      expect(codeOf(endLock(record, 'live', ending, nowMs), 'live')).toBe('LOCK_EXPIRED')
    }
    expect(codeOf(endLock(record, 'live', 'acknowledged', nowMs), 'live')).toBe('acknowledged')
  })
})

it('For any record, ending all expired locks leaves exactly the live ones.', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const after = foldDone(endExpired(record, nowMs), nowMs)
      expect([...after.locks]).toEqual(liveLocks(record, nowMs))
      const done = [...record.locks.values()].filter(({ expiresAtMs }) => expiresAtMs === 0)
      const items = done.reduce((sum, { stretches }) => sum + itemsIn(stretches), 0)
      expect(unsettled(record) - unsettled(after)).toBe(items)
      expect(after.room - record.room).toBe(items)
    }),
  )
})
