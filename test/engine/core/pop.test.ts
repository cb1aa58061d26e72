import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fenced } from '../../../engine/core/fence.ts'
import { IN_FLIGHT_MAX, LANES_AHEAD_NAMED } from '../../../engine/core/limits.ts'
import {
  choose,
  type PopCommand,
  type PopTake,
  planPop,
  takeItems,
} from '../../../engine/core/plan-pop.ts'
import { numbersOf } from '../../../engine/core/ranges.ts'
import { freeIn, itemsIn, lanesInOrder, type QueueRecord } from '../../../engine/core/record.ts'
import { checkRecount } from '../ledger.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, tailOf } from './a-record.ts'

const plain: PopCommand = { count: 3, competing: false }
const locking: PopCommand = { ...plain, lock: { id: 'new', ttlMs: 30_000 } }

function planned(record: QueueRecord, command: PopCommand): PopTake {
  const plan = planPop(record, command, nowMs)
  if (plan.kind !== 'take') throw new Error(`Expected to take, and got ${plan.kind}`)
  return plan
}

const two = { 0: aLane({ tail: tailOf(2) }), 5: aLane({ tail: tailOf(4), epoch: 'epoch-05' }) }

describe('A pop plans', () => {
  it('the first free items, over priorities.', () => {
    const plan = planned(aRecord(two), plain)
    expect(plan.picks).toEqual([at(0, 0, 2), at(5, 0, 1)])
  })

  it('one lane alone when it is starving.', () => {
    const plan = planned(aRecord(two), { ...plain, oneLane: true })
    expect(plan.picks).toEqual([at(0, 0, 2)])
  })

  it('nothing when nothing is there.', () => {
    expect(planPop(aRecord(), plain, nowMs)).toEqual({ kind: 'empty' })
    expect(planPop(aRecord({ 0: aLane() }), locking, nowMs)).toEqual({ kind: 'empty' })
  })

  it('to wait for the last live lock, unless it competes.', () => {
    const locks = new Map([
      ['a', aLock(later(5), at(0, 0, 1))],
      ['b', aLock(later(9), at(0, 1, 2))],
    ])
    const record = aRecord({ ...two, 0: aLane({ tail: tailOf(2), frontier: 2 }) }, { locks })
    expect(planPop(record, plain, nowMs)).toEqual({
      kind: 'locked',
      untilMs: later(9),
      forRetry: false,
    })
    expect(planned(record, { ...plain, competing: true }).picks).toEqual([at(5, 0, 3)])
  })

  it('what an expired lock gives back first, and not what is done.', () => {
    const locks = new Map([
      ['a', aLock(later(-1), at(5, 0, 1))],
      ['b', aLock(0, at(5, 1, 2))],
    ])
    const lane = aLane({ tail: tailOf(4), frontier: 2 })
    const plan = planned(aRecord({ 5: lane }, { locks }), plain)
    expect(plan.picks).toEqual([at(5, 0, 1), at(5, 2, 4)])
    // Folding what is done can wait: the expired lock has used the expression.
    expect([...plan.draft.locks.keys()]).toEqual(['b'])
    expect(plan.draft.ended.map(({ ending }) => ending)).toEqual(['expired'])
  })

  it('to acknowledge first, and to refuse if that fails.', () => {
    const locks = new Map([['mine', aLock(later(5), at(0, 0, 2))]])
    const record = aRecord({ ...two, 0: aLane({ tail: tailOf(2), frontier: 2 }) }, { locks })
    const plan = planned(record, { ...plain, acknowledge: 'mine' })
    expect(plan).toMatchObject({ itemsAcknowledged: 2, picks: [at(5, 0, 3)] })
    expect(planPop(record, { ...plain, acknowledge: 'other' }, nowMs)).toMatchObject({
      kind: 'refused',
      error: { code: 'INVALID_LOCK_ID' },
    })
    const drained = { ...record, lanes: new Map([...record.lanes].slice(0, 1)) }
    expect(planPop(drained, { ...plain, acknowledge: 'mine' }, nowMs)).toMatchObject({
      kind: 'empty',
      itemsAcknowledged: 2,
    })
  })

  it('to end expired locks by themselves when they are too many for one write.', () => {
    const locks = new Map(
      Array.from({ length: 90 }, (_, n) => [`lock-${n}`, aLock(later(-1), at(0, n, n + 1))]),
    )
    const record = aRecord({ 0: aLane({ sealed: 100, frontier: 90 }) }, { locks })
    const plan = planPop(record, plain, nowMs)
    expect(plan.kind).toBe('end-expired')
  })

  it('no more items in locks than may be in flight.', () => {
    const lane = aLane({ sealed: 5_000, frontier: IN_FLIGHT_MAX - 2 })
    const locks = new Map([['a', aLock(later(9), at(0, 0, IN_FLIGHT_MAX - 2))]])
    const record = aRecord({ 0: lane }, { locks })
    const competing = { ...locking, competing: true }
    expect(itemsIn(planned(record, competing).picks)).toBe(2)
    const full = aRecord(
      { 0: lane },
      { locks: locks.set('b', aLock(later(9), at(0, 1_998, 2_000))) },
    )
    expect(planPop(full, competing, nowMs)).toMatchObject({
      kind: 'refused',
      error: { code: 'TOO_MANY_LOCKS' },
    })
    expect(planned(full, { ...plain, competing: true }).picks).toEqual([at(0, 2_000, 2_003)])
    // What it ends itself makes room: two items of the lock less, and one hole more.
    const combined = planned(full, { ...competing, acknowledge: 'b' })
    const { guards } = takeItems(combined, 1, { ...competing, acknowledge: 'b' }, nowMs)
    expect(guards.inFlightMax).toBe(IN_FLIGHT_MAX + 1 - 1)
  })

  it('the lock of an earlier pop with the same key, while it lives.', () => {
    const keyed = { ...locking, lock: { id: 'new', ttlMs: 5, keyHash: 'key' } }
    const lock = { ...aLock(later(9), at(0, 0, 1)), keyHash: 'key' }
    const record = aRecord(two, { locks: new Map([['old', lock]]) })
    expect(planPop(record, keyed, nowMs)).toMatchObject({ kind: 'repeat', lockId: 'old' })
    const late = aRecord(two, { locks: new Map([['old', { ...lock, expiresAtMs: nowMs }]]) })
    expect(planPop(late, keyed, nowMs).kind).toBe('take')
  })
})

describe('Taking', () => {
  it('settles without a lock, and locks with one.', () => {
    const plan = planned(aRecord(two), plain)
    const settled = takeItems(plan, 3, plain, nowMs)
    expect(settled.draft.lanes.get(0)).toMatchObject({ head: 2, frontier: 2 })
    const locked = takeItems(plan, 3, locking, nowMs)
    expect(locked.draft.lanes.get(5)).toMatchObject({ head: 0, frontier: 1 })
    expect(locked.draft.locks.get('new')).toEqual({
      expiresAtMs: later(30_000),
      stretches: [at(0, 0, 2), at(5, 0, 1)],
    })
  })

  it('takes only as many as were read.', () => {
    const taken = takeItems(planned(aRecord(two), plain), 1, plain, nowMs)
    expect(taken.stretches).toEqual([at(0, 0, 1)])
    expect(taken.guards.lanesAhead).toEqual([])
  })

  it('names the lanes ahead of its last item, or all appends if they are too many.', () => {
    const lanes = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count + 1 }, (_, p) => [
          p,
          aLane({ tail: tailOf(p === count ? 1 : 0) }),
        ]),
      )
    const few = takeItems(planned(aRecord(lanes(LANES_AHEAD_NAMED)), plain), 1, plain, nowMs)
    expect(few.guards.lanesAhead).toHaveLength(LANES_AHEAD_NAMED)
    expect(few.guards).toMatchObject({ claims: true, lanesMade: true })
    const many = takeItems(planned(aRecord(lanes(LANES_AHEAD_NAMED + 1)), plain), 1, plain, nowMs)
    expect(many.guards).toMatchObject({ appends: true })
    expect(many.guards.lanesAhead).toBeUndefined()
  })

  it('for a competing consumer does not mind claims, and bounds what is in flight.', () => {
    const competing = { ...locking, competing: true }
    const { guards } = takeItems(planned(aRecord(two), competing), 2, competing, nowMs)
    expect(guards).toMatchObject({ claims: false, inFlightMax: IN_FLIGHT_MAX - 2 })
  })
})

const anyCommand: fc.Arbitrary<PopCommand> = fc.record(
  {
    count: fc.integer({ min: 1, max: 30 }),
    competing: fc.boolean(),
    oneLane: fc.boolean(),
    lock: fc.constant({ id: 'lock-of-pop', ttlMs: 9_000 }),
  },
  { requiredKeys: ['count', 'competing'] },
)

describe('Whatever the record,', () => {
  it('items are chosen in the order of priority and number, and none is passed over.', () => {
    fc.assert(
      fc.property(anyRecord, fc.nat(40), (record, count) => {
        const free = lanesInOrder(record).flatMap(([priority, lane]) =>
          [...numbersOf(freeIn(record, lane))].map((n) => `${priority}/${n}`),
        )
        const chosen = choose(record, count, false).flatMap((stretch) =>
          [...numbersOf([stretch])].map((n) => `${stretch.priority}/${n}`),
        )
        expect(chosen).toEqual(free.slice(0, count))
      }),
    )
  })

  it('what is taken is in no other lock, and the counts come out right.', () => {
    fc.assert(
      fc.property(anyRecord, anyCommand, (record, command) => {
        const plan = planPop(record, command, nowMs)
        if (plan.kind !== 'take') return
        const taken = takeItems(plan, itemsIn(plan.picks), command, nowMs)
        const { after } = fenced(record, taken.draft, { nowMs, mark: 'mark03' })
        checkRecount(after)
        const held = [...after.locks.values()].flatMap(({ stretches }) =>
          stretches.flatMap((stretch) =>
            [...numbersOf([stretch])].map((n) => `${stretch.priority}/${n}`),
          ),
        )
        expect(new Set(held).size).toBe(held.length)
        for (const { priority, from, to } of taken.stretches) {
          const lane = after.lanes.get(priority)
          if (lane === undefined) throw new Error('unreachable')
          const free = new Set(numbersOf(freeIn(after, lane)))
          for (let n = from; n < to; n += 1) expect(free.has(n)).toBe(false)
          expect(lane.frontier).toBeGreaterThanOrEqual(to)
        }
      }),
    )
  })
})
