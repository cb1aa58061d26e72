import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { appendOf, withAppended } from '../../../engine/core/append.ts'
import { fenced } from '../../../engine/core/fence.ts'
import { IDEMPOTENCY_TTL_SECONDS, ROOMY_TAIL } from '../../../engine/core/limits.ts'
import { endLock } from '../../../engine/core/locks.ts'
import { purgeStep, takeOut } from '../../../engine/core/named-items.ts'
import { planPop, takeItems } from '../../../engine/core/plan-pop.ts'
import { planSeal, type Seal, sealed } from '../../../engine/core/plan-seal.ts'
import {
  itemsIn,
  type Lane,
  type Lock,
  type QueueRecord,
  withLane,
  withoutLane,
} from '../../../engine/core/record.ts'
import { encodeNote, noteBytes } from '../../../engine/core/repeated-pushes.ts'
import { settle } from '../../../engine/core/settling.ts'
import { decodeRecord } from '../../../engine/core/stored-record.ts'
import { fencedUpdate } from '../../../engine/requests/fenced-update.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, tailOf } from '../core/a-record.ts'
import { applied, expectPlaceholdersUsed, expectWithinLimits, storedOf } from './an-update.ts'

const mark = 'mark03'
const updateOf = (before: QueueRecord, draft: QueueRecord, guards = {}) =>
  fencedUpdate(fenced(before, draft, { nowMs, mark, guards }))

const aQueue = () =>
  aRecord({ 0: aLane({ tail: tailOf(3) }), 4: aLane({ tail: tailOf(2), frontier: 1 }) })

describe('A fenced write', () => {
  it('names version and birth, and leaves its mark.', () => {
    const record = aQueue()
    const built = updateOf(record, record)
    expect(built.ConditionExpression).toMatch(/^attribute_not_exists\(fm\) AND v=:0 AND born=:1/)
    expect(built.ExpressionAttributeValues).toMatchObject({ ':0': 7, ':1': 'born-000' })
    expect(applied(storedOf(record), built)).toMatchObject({ v: 8, m: 'mark01mark02mark03' })
  })

  it('takes entries off a tail by index, the highest first, and never sets a tail or a lane.', () => {
    const record = aQueue()
    const lane = record.lanes.get(0) as Lane
    const draft = withLane(record, { ...lane, sealed: 2, tail: lane.tail.slice(2) })
    const built = updateOf(record, { ...draft, tailBytes: record.tailBytes - 44 })
    expect(built.UpdateExpression).toContain('REMOVE L.#0.t[1],L.#0.t[0]')
    expect(built.UpdateExpression).not.toMatch(/SET (.*,)?L\.#\d(\.t)?=/)
    // What was appended meanwhile stays.
    const stored = storedOf(record)
    stored.L[0]?.t.push('new')
    stored.b += 11
    const after = applied(stored, built)
    expect(after.L[0]?.t).toEqual([lane.tail[2], 'new'])
    expect(after.b).toBe(stored.b - 44)
  })

  it('changes counters that others change by adding alone.', () => {
    const record = aQueue()
    const draft = { ...record, room: record.room + 3, returns: 1, tailBytes: record.tailBytes - 5 }
    const { UpdateExpression } = updateOf(record, draft)
    const adds = UpdateExpression.slice(UpdateExpression.indexOf('ADD '))
    for (const counter of ['room', 'g', 'b']) expect(adds).toMatch(new RegExp(`[ ,]${counter} :`))
    expect(UpdateExpression).not.toMatch(/(room|[gbiacn])=/)
  })

  it('that drops a lane says that nothing was appended to it.', () => {
    const record = aRecord({ 0: aLane(), 4: aLane() })
    const built = updateOf(record, withoutLane(record, 4))
    expect(built.ConditionExpression).toContain('size(L.#0.t)=')
    const stored = storedOf(record)
    expect(Object.keys(applied(stored, built).L)).toEqual(['0'])
    stored.L[4]?.t.push('new')
    expect(() => applied(stored, built)).toThrow('conditional')
  })

  const around = (holes: Lane['holes']) =>
    aRecord({ 0: aLane({ tail: tailOf(9), frontier: 3, holes }) })

  it('that takes an item out ahead of the frontier fails if a claim has come past it.', () => {
    const record = around([])
    const built = updateOf(record, takeOut(record, [at(0, 5, 7)], nowMs))
    const [before, past] = [storedOf(record), storedOf(record)]
    Object.assign(before.L[0] as object, { f: 5 })
    expect(applied(before, built).L[0]).toMatchObject({ f: 5, k: [5, 7] })
    Object.assign(past.L[0] as object, { f: 6 })
    expect(() => applied(past, built)).toThrow('conditional')
  })

  it('that settles an item behind the frontier, beside a gap ahead of it, does not mind claims.', () => {
    const record = around([{ from: 3, to: 4 }])
    const built = updateOf(record, settle(record, [at(0, 2, 3)]))
    expect(built.ConditionExpression).not.toContain('.f')
  })

  it('that appends says how large the tails may be, and appends where they end by then.', () => {
    const record = around([])
    const entries = new Map([[0, ['one', 'two']]])
    const draft = withAppended(record, appendOf(entries))
    const stored = storedOf(record)
    const built = updateOf(record, draft, { tailBytesMax: stored.b + 9 })
    stored.L[0]?.t.push('new')
    const full = { ...storedOf(record), b: stored.b + 10 }
    expect(() => applied(full, built)).toThrow('conditional')
    expect(applied(stored, built).L[0]?.t.slice(9)).toEqual(['new', 'one', 'two'])
  })

  const locks: readonly [string, (lock: { x: number }) => void][] = [
    ['acknowledged', (lock) => Object.assign(lock, { x: 0 })],
    ['extended', (lock) => Object.assign(lock, { x: later(50_000) })],
  ]
  it.each(locks)('that ends a lock fails when it was %s meanwhile.', (_, change) => {
    const record = aRecord(
      { 0: aLane({ tail: tailOf(3), frontier: 2 }) },
      { locks: new Map([['lock', aLock(later(9), at(0, 0, 2))]]) },
    )
    const built = updateOf(record, endLock(record, 'lock', 'released', nowMs))
    const stored = storedOf(record)
    expect(applied(stored, built).K).toEqual({})
    change(stored.K.lock as { x: number })
    expect(() => applied(stored, built)).toThrow('conditional')
  })

  it('that sets a frontier says that no claim moved it, or counts claims.', () => {
    const record = aQueue()
    const lane = record.lanes.get(4) as Lane
    const draft = withLane(record, { ...lane, frontier: 2 })
    const stored = storedOf(record)
    for (const guards of [{}, { claims: true }]) {
      const built = updateOf(record, draft, guards)
      expect(applied(stored, built).L[4]?.f).toBe(2)
      const claimed = { ...stored, c: 3, L: { ...stored.L, 4: { ...stored.L[4], f: 2 } as never } }
      expect(() => applied(claimed, built)).toThrow('conditional')
    }
  })

  it.each([
    [
      'an append ahead',
      { lanesAhead: [0] },
      (s: { L: Record<string, { t: string[] }> }) => s.L[0]?.t.push('x'),
    ],
    ['any append', { appends: true }, (s: { a: number }) => Object.assign(s, { a: 99 })],
    ['a lane made', { lanesMade: true }, (s: { n: number }) => Object.assign(s, { n: 99 })],
    ['too much in flight', { inFlightMax: 5 }, (s: { i: number }) => Object.assign(s, { i: 6 })],
    ['a moved timer', {}, (s: { checkAt?: number }) => Object.assign(s, { checkAt: 1 })],
  ])('that guards against it fails for %s.', (_, guards, change) => {
    const record = aRecord({ 0: aLane({ tail: tailOf(3) }) })
    const draft = {
      ...record,
      locks: new Map([['new', aLock(later(5), at(0, 0, 1))]]),
    }
    const built = updateOf(record, draft, guards)
    const stored = storedOf(record)
    expect(applied(stored, built).checkAt).toBe(later(5))
    change(stored as never)
    expect(() => applied(stored, built)).toThrow('conditional')
  })

  it('that changes nothing of a lane does not name it.', () => {
    const record = aQueue()
    const same = withLane(record, { ...(record.lanes.get(0) as Lane) })
    const built = updateOf(record, same)
    expectPlaceholdersUsed(built)
    applied(storedOf(record), built)
  })
})

/** Decoded again, the row is the record that was meant. */
function expectWritten(before: QueueRecord, draft: QueueRecord, guards = {}): void {
  const change = fenced(before, draft, { nowMs, mark, guards })
  const built = fencedUpdate(change)
  expectWithinLimits(built)
  expectPlaceholdersUsed(built)
  const after = decodeRecord(applied(storedOf(before), built))
  const plain = (record: QueueRecord) => ({
    ...record,
    lanes: [...record.lanes].sort(([a], [b]) => a - b),
    locks: [...record.locks].sort(([a], [b]) => (a < b ? -1 : 1)),
  })
  expect(plain(after)).toEqual(plain(decodeRecord(storedOf2(change.after))))
}

const storedOf2 = (record: QueueRecord) => {
  const stored = storedOf(record)
  return {
    ...stored,
    ...(record.ended.length > 0 && { e: endedText(record) }),
    ...(record.lastEndedMs > 0 && { le: record.lastEndedMs }),
  }
}
const codes = { acknowledged: 'a', expired: 'x', released: 'r', 'dead-lettered': 'd', purged: 'p' }
const endedText = (record: QueueRecord): string =>
  record.ended
    .map(({ lockId, ending, items }) => `${lockId}${codes[ending]}${items.toString(36)}`)
    .join('.')

describe('For any record, the row after the write shows the decision:', () => {
  it('a pop.', () => {
    const commands = fc.record({ count: fc.integer({ min: 1, max: 30 }), competing: fc.boolean() })
    fc.assert(
      fc.property(anyRecord, commands, fc.boolean(), (record, command, isLocking) => {
        const lock = { id: 'lock-of-pop', ttlMs: 9_000 }
        const whole = isLocking ? { ...command, lock } : command
        const plan = planPop(record, whole, nowMs)
        if (plan.kind !== 'take') return
        const { draft, guards } = takeItems(plan, itemsIn(plan.picks), whole, nowMs)
        expectWritten(record, draft, guards)
      }),
    )
  })

  it('a purge.', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { draft } = purgeStep(record, undefined, nowMs)
        if (draft !== record) expectWritten(record, draft, { claims: true })
      }),
    )
  })

  it('a lock that ends, in any way.', () => {
    const endings = fc.constantFrom('acknowledged', 'expired', 'released', 'dead-lettered' as const)
    fc.assert(
      fc.property(anyRecord, endings, (record, ending) => {
        const [lockId] = record.locks.keys()
        if (lockId === undefined) return
        expectWritten(record, endLock(record, lockId, ending as never, nowMs, 'why'))
      }),
    )
  })
})

/** Lanes with everything a write could change in them. */
function wide(lanes: number, entries: number): QueueRecord {
  const some: Record<number, Lane> = {}
  for (let n = 0; n < lanes; n += 1) {
    some[n] = aLane({
      epoch: `epoch-${n}`,
      frontier: 4,
      sealed: 4,
      tail: tailOf(entries),
      holes: [{ from: 1, to: 2 }],
      deliveries: [{ from: 0, to: 1, count: 2 }],
      dead: [{ from: 3, to: 4, reason: 'why' }],
    })
  }
  return aRecord(some, { checkAtMs: later(-9) })
}

/** With as many notes as a tail has room for. */
function noted(record: QueueRecord): QueueRecord {
  const [priority = 0] = record.lanes.keys()
  const note = encodeNote({
    bodyHash: '-'.repeat(22),
    pushedAtMs: nowMs,
    tag: 'tag2',
    ttlSeconds: IDEMPOTENCY_TTL_SECONDS,
    places: new Map([[priority, { anchor: 'tag1', offset: 0 }]]),
  })
  const count = Math.floor(ROOMY_TAIL.hardBytes / noteBytes(note))
  const notes = new Map(Array.from({ length: count }, (_, n) => [`hash ${n}`, note]))
  return { ...record, notes, tailBytes: record.tailBytes + count * noteBytes(note) }
}

const locksOn = (count: number, lanesEach: number, lanes: number, expiresAtMs: number) =>
  Array.from({ length: count }, (_, n): [string, Lock] => {
    const held = Array.from({ length: lanesEach }, (_, k) => at((n * lanesEach + k) % lanes, 2, 3))
    return [`lock-${expiresAtMs}-${n}`, aLock(expiresAtMs, ...held)]
  })

describe('In the worst case an expression stays within DynamoDB’s limits:', () => {
  const shapes = [
    [100, 2, 40, 1],
    [100, 5, 40, 1],
    [1_000, 1, 10, 100],
    [1_000, 2, 1, 100],
    [40, 5, 40, 1],
    [41, 20, 40, 3],
    [60, 60, 5, 60],
    [2, 500, 40, 2],
  ] as const
  it.each(shapes)(
    'a pop of 100 from %i lanes of %i entries, with %i locks over %i lanes.',
    (lanes, entries, locks, each) => {
      for (const [expired, done] of [
        [locks, 0],
        [0, locks],
        [locks, locks],
      ] as const) {
        const some = [
          ...locksOn(expired, each, lanes, later(-1)),
          ...locksOn(done, each, lanes, 0).map(([id, lock]) => [`done-${id}`, lock] as const),
        ]
        const record = { ...wide(lanes, entries), locks: new Map(some) }
        for (const competing of [true, false]) {
          const command = { count: 100, competing, lock: { id: 'lock-of-pop', ttlMs: 5 } }
          const plan = planPop(record, command, nowMs)
          if (plan.kind === 'end-expired') expectWithinLimits(updateOf(record, plan.draft))
          if (plan.kind !== 'take') continue
          const { draft, guards } = takeItems(plan, itemsIn(plan.picks), command, nowMs)
          const change = fenced(record, draft, { nowMs, mark, guards, refreshCheckAt: competing })
          expectWithinLimits(fencedUpdate(change))
        }
      }
    },
  )

  it.each(shapes)(
    'a purge of %i lanes of %i entries, with %i locks over %i lanes, step by step.',
    (lanes, entries, locks, each) => {
      let record: QueueRecord = {
        ...wide(lanes, entries),
        locks: new Map(locksOn(locks, each, lanes, later(9))),
      }
      for (let step = 1, finished = false; !finished; step += 1) {
        const result = purgeStep(record, undefined, nowMs)
        expectWithinLimits(updateOf(record, result.draft, { claims: true }))
        record = fenced(record, result.draft, { nowMs, mark }).after
        finished = result.finished
        expect(step).toBeLessThan(100)
      }
    },
  )

  it.each(shapes)(
    'a seal of %i lanes of %i entries, with as many notes as fit.',
    (lanes, entries) => {
      const record = noted(wide(lanes, entries))
      const seal = planSeal(record) as Seal
      const after = fenced(record, sealed(record, seal), { nowMs, mark }).after
      expect(after.notes.size).toBe(record.notes.size - seal.notes.length)
      expectWithinLimits(updateOf(record, sealed(record, seal)))
    },
  )

  it.each(shapes)('a seal of %i lanes of %i entries.', (lanes, entries) => {
    const record = wide(lanes, entries)
    const seal = planSeal(record) as Seal
    expectWithinLimits(updateOf(record, sealed(record, seal)))
  })

  it.each(shapes)(
    'an acknowledge of a whole lock over lanes: %i of %i entries.',
    (lanes, entries) => {
      const record = { ...wide(lanes, entries), locks: new Map(locksOn(1, 100, lanes, later(9))) }
      const [lockId] = record.locks.keys()
      for (const ending of ['acknowledged', 'released', 'dead-lettered'] as const) {
        expectWithinLimits(updateOf(record, endLock(record, lockId as string, ending, nowMs, 'x')))
      }
    },
  )
})
