import { describe, expect, it } from 'vitest'
import { CLAIM_BLIND_ITEMS, IN_FLIGHT_MAX, LANES_AHEAD_NAMED } from '../../../engine/core/limits.ts'
import type { PopCommand } from '../../../engine/core/plan-pop.ts'
import { planClaim } from '../../../engine/core/plan-pop.ts'
import type { QueueRecord } from '../../../engine/core/record.ts'
import { claimUpdate } from '../../../engine/requests/blind-updates.ts'
import {
  applied,
  expectPlaceholdersUsed,
  expectWithinLimits,
  storedOf,
} from '../requests/an-update.ts'
import { aLane, aLock, aRecord, at, later, nowMs, tailOf } from './a-record.ts'

const command: PopCommand = {
  count: 2,
  competing: true,
  lock: { id: 'mine', ttlMs: 30_000 },
}

const aQueue = (changes: Partial<QueueRecord> = {}, frontier = 3) =>
  aRecord(
    {
      0: aLane(),
      2: aLane({ tail: tailOf(9), frontier, epoch: 'epoch-02' }),
      7: aLane({ tail: tailOf(4) }),
    },
    {
      checkAtMs: later(9_000),
      locks: new Map([['a', aLock(later(9_000), at(2, 0, frontier))]]),
      ...changes,
    },
  )

describe('A claim is planned', () => {
  it('for the next fresh items of the first lane that has any.', () => {
    expect(planClaim(aQueue(), command, nowMs)).toMatchObject({
      priority: 2,
      epoch: 'epoch-02',
      count: 2,
      frontierMax: 7,
      exact: false,
      lanesAhead: [0],
      expiresAtMs: later(30_000),
    })
  })

  it('exactly, if so many may be too large for an answer.', () => {
    const many = { ...command, count: CLAIM_BLIND_ITEMS + 1 }
    const long = aRecord({ 0: aLane({ tail: tailOf(20) }) }, { checkAtMs: later(9) })
    expect(planClaim(long, many, nowMs)).toMatchObject({ count: 9, exact: true })
    expect(planClaim(long, { ...command, count: CLAIM_BLIND_ITEMS }, nowMs)?.exact).toBe(false)
  })

  it('with all appends compared, if too many lanes are ahead.', () => {
    const empty = Array.from({ length: LANES_AHEAD_NAMED + 1 }, (_, p) => [p, aLane()])
    const record = aRecord(
      { ...Object.fromEntries(empty), 900: aLane({ tail: tailOf(3) }) },
      { checkAtMs: later(9) },
    )
    expect(planClaim(record, command, nowMs)).toMatchObject({ lanesAhead: [], noAppends: true })
  })
})

describe('A pop goes under the fence', () => {
  const cases: readonly [string, QueueRecord, PopCommand][] = [
    ['that is exclusive', aQueue(), { ...command, competing: false }],
    ['that wants no lock', aQueue(), { count: 2, competing: true }],
    ['that has a key', aQueue(), { ...command, lock: { id: 'm', ttlMs: 9, keyHash: 'k' } }],
    ['where no timer is set', aQueue({ checkAtMs: undefined }), command],
    ['where a lock may have expired', aQueue({ checkAtMs: nowMs }), command],
    ['whose lock ends before the timer', aQueue({ checkAtMs: later(30_001) }), command],
    ['where something came back', aQueue({ locks: new Map() }), command],
    ['that reaches into another lane', aQueue(), { ...command, count: 7 }],
    ['that acknowledges what is not live', aQueue(), { ...command, acknowledge: 'b' }],
    ['where nothing is free', aRecord({ 0: aLane() }, { checkAtMs: later(9) }), command],
  ]
  it.each(cases)('%s.', (_, record, of) => {
    expect(planClaim(record, of, nowMs)).toBeUndefined()
  })

  it('where too much is in flight.', () => {
    const lane = aLane({ sealed: 5_000, frontier: IN_FLIGHT_MAX - 1 })
    const locks = new Map([['a', aLock(later(9), at(0, 0, IN_FLIGHT_MAX - 1))]])
    const record = aRecord({ 0: lane }, { locks, checkAtMs: later(9) })
    expect(planClaim(record, { ...command, count: 1 }, nowMs)).toBeDefined()
    expect(planClaim(record, command, nowMs)).toBeUndefined()
  })
})

describe('A claim’s write', () => {
  const record = aQueue()
  const updateOf = (of: PopCommand = command) => {
    const claim = planClaim(record, of, nowMs)
    if (claim === undefined) throw new Error('unreachable')
    return claimUpdate(claim, 'free')
  }

  it('takes its items from wherever the frontier is by then.', () => {
    const stored = storedOf(record)
    const after = applied(stored, updateOf())
    expect(after.L[2]?.f).toBe(5)
    expect(after.K.mine).toEqual({ x: later(30_000), p: 2, n: 2 })
    expect(after.F.mine).toBe(3)
    expect([after.c - stored.c, after.i - stored.i, after.v - stored.v]).toEqual([1, 2, 0])
    // Another claim was faster: it takes what follows.
    const behind = applied(after, { ...updateOf() })
    expect(behind.F.mine).toBe(5)
  })

  /** A timer that the stream announces is one that a claim need not have seen. */
  const announced = (checkAt: number) => ({ checkAt, wk: 'y' })
  const races: readonly [string, (stored: ReturnType<typeof storedOf>) => void][] = [
    ['the queue is another one', (s) => Object.assign(s, { born: 'other-00' })],
    ['the lane is another one', (s) => Object.assign(s.L[2] ?? {}, { e: 'other-00' })],
    ['something came back', (s) => Object.assign(s, { g: 1 })],
    ['a lock may have expired', (s) => Object.assign(s, announced(nowMs))],
    ['the timer was taken away', (s) => delete s.checkAt],
    ['the timer is later than its lock', (s) => Object.assign(s, announced(later(30_001)))],
    ['the items ran out', (s) => Object.assign(s.L[2] ?? {}, { f: 8 })],
    ['a lane was made', (s) => Object.assign(s, { n: 9 })],
    ['a lane ahead got an item', (s) => s.L[0]?.t.push('x')],
    ['a lane ahead was sealed', (s) => Object.assign(s.L[0] ?? {}, { s: 1 })],
    ['too much is in flight', (s) => Object.assign(s, { i: IN_FLIGHT_MAX - 1 })],
    ['a fenced write is starving', (s) => Object.assign(s, { hold: later(100) })],
  ]
  it.each(races)('fails when %s.', (_, change) => {
    const stored = storedOf(record)
    change(stored)
    expect(() => applied(stored, updateOf())).toThrow('conditional')
  })

  it('with an acknowledge fails when that lock ended.', () => {
    const built = updateOf({ ...command, acknowledge: 'a' })
    const stored = storedOf(record)
    expect(applied(stored, built).K.a).toMatchObject({ x: 0 })
    for (const x of [0, nowMs]) {
      const ended = { ...stored, K: { a: { x, r: [2, 0, 3] } } }
      expect(() => applied(ended, built)).toThrow('conditional')
    }
  })

  it('stays within the limits with as many lanes ahead as it may name.', () => {
    const empty = Array.from({ length: LANES_AHEAD_NAMED }, (_, p) => [2_000_000_000 + p, aLane()])
    const wide = aRecord(
      { ...Object.fromEntries(empty), 2147483647: aLane({ tail: tailOf(3), frontier: 1 }) },
      { checkAtMs: later(9), locks: new Map([['a', aLock(later(9), at(2_147_483_647, 0, 1))]]) },
    )
    const claim = planClaim(wide, { ...command, acknowledge: 'a' }, nowMs)
    if (claim === undefined) throw new Error('unreachable')
    expectWithinLimits(claimUpdate(claim, undefined))
    expectPlaceholdersUsed(claimUpdate(claim, undefined))
  })
})
