import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { announced, remind } from '../../../engine/core/fence.ts'
import { endExpired, endLock, foldDone } from '../../../engine/core/locks.ts'
import { purgeStep } from '../../../engine/core/named-items.ts'
import {
  freeIn,
  hasFree,
  type QueueRecord,
  stretchesOf,
  withLane,
} from '../../../engine/core/record.ts'
import { againAfter, bury, settle } from '../../../engine/core/settling.ts'
import { type Transition, transitionsOf } from '../../../engine/core/views.ts'
import { aLane, aLock, anyRecord, aRecord, at, later, nowMs, range, tailOf } from './a-record.ts'
import { naiveTransitions } from './naive-transitions.ts'

const available: Transition = { kind: 'items-available' }
const drained: Transition = { kind: 'queue-drained' }
const expired = (items: number, ...priorities: [number, number][]): Transition => ({
  kind: 'lock-expired',
  items,
  priorities: new Map(priorities),
})
const dead = (items: number, reason: string, priority = 0): Transition => ({
  kind: 'item-dead-lettered',
  priority,
  reason,
  items,
})

const stored = (count: number) => aRecord({ 0: aLane({ tail: tailOf(count) }) })
const nothing = stored(0)
const dry = (record: QueueRecord): QueueRecord => ({ ...record, dry: true })
const locked = (count: number, ...locks: [string, ReturnType<typeof aLock>][]) =>
  aRecord({ 0: aLane({ tail: tailOf(count), frontier: count }) }, { locks: new Map(locks) })
const configured = (record: QueueRecord, maxDeliveries: number): QueueRecord => ({
  ...record,
  configuration: { ...record.configuration, maxDeliveries },
})

const oneLock = locked(2, ['one', aLock(later(-1), at(0, 0, 2))])
const acknowledged = locked(2, ['one', aLock(0, at(0, 0, 2))])
const settled = settle(stored(2), [at(0, 0, 2)])
const twoLocks = locked(
  3,
  ['one', aLock(later(-1), at(0, 0, 2))],
  ['two', aLock(later(9), at(0, 2, 3))],
)
const firstLocked = aRecord(
  { 0: aLane({ tail: tailOf(3), frontier: 1 }) },
  { locks: new Map([['one', aLock(later(-1), at(0, 0, 1))]]) },
)
const lockedBeside = aRecord(
  { 0: aLane({ tail: tailOf(1), frontier: 1 }), 5: aLane({ tail: tailOf(2) }) },
  { locks: new Map([['one', aLock(later(9), at(0, 0, 1))]]) },
)
const deadOf = (record: QueueRecord, from: number, to: number, reason = 'no') =>
  bury(record, [at(0, from, to)], reason)

const cases: readonly [string, QueueRecord | undefined, QueueRecord, readonly Transition[]][] = [
  ['A queue made with an item has something.', undefined, stored(1), [available]],
  ['A queue made without an item has nothing.', undefined, nothing, []],
  ['The first push to a drained queue makes something.', dry(nothing), stored(1), [available]],
  [
    'The first push makes something, too, where nobody marked the queue.',
    nothing,
    stored(1),
    [available],
  ],
  ['A push behind others is nothing new.', stored(1), stored(2), []],
  ['A push to a queue that is all locked makes something.', dry(oneLock), locked(2), [available]],
  [
    'A push beside a lock is nothing new while items wait.',
    locked(3, ['one', aLock(later(9), at(0, 0, 1))]),
    locked(4, ['one', aLock(later(9), at(0, 0, 1))]),
    [],
  ],
  ['A pop of some items is nothing.', stored(3), settle(stored(3), [at(0, 0, 1)]), []],
  ['A pop of the last drains.', stored(2), dry(settle(stored(2), [at(0, 0, 2)])), [drained]],
  [
    'A pop of the last drains nothing until it has marked the queue.',
    stored(2),
    settle(stored(2), [at(0, 0, 2)]),
    [],
  ],
  ['A mark that comes a write later will do.', settled, dry(settled), [drained]],
  ['Once drained, a queue is not drained again.', dry(settled), dry(nothing), []],
  ['A lock on everything does not drain.', stored(2), dry(oneLock), []],
  [
    'Acknowledging the last lock drains, before anybody folds it.',
    dry(oneLock),
    dry(acknowledged),
    [drained],
  ],
  [
    'Folding an acknowledged lock later is nothing.',
    dry(acknowledged),
    foldDone(dry(acknowledged), nowMs),
    [],
  ],
  [
    'An expired lock is told, and its items are there again.',
    oneLock,
    endExpired(oneLock, nowMs),
    [expired(2, [0, 2]), available],
  ],
  [
    'A lock that lives beside an expired one is not told.',
    twoLocks,
    endExpired(twoLocks, nowMs),
    [expired(2, [0, 2]), available],
  ],
  [
    'Items that a pop finds expired and takes on at once are not there for others.',
    oneLock,
    {
      ...endExpired(oneLock, nowMs),
      locks: new Map([['next', aLock(later(9), at(0, 0, 2))]]),
    },
    [expired(2, [0, 2])],
  ],
  [
    'A released lock did not expire; its items are there again.',
    oneLock,
    endLock(oneLock, 'one', 'released', nowMs),
    [available],
  ],
  [
    'Items released beside others that wait are told, too: somebody saw them locked.',
    locked(4, ['one', aLock(later(9), at(0, 0, 2))]),
    endLock(locked(4, ['one', aLock(later(9), at(0, 0, 2))]), 'one', 'released', nowMs),
    [available],
  ],
  [
    'Items released for later are not there yet, nor is what they keep back.',
    locked(4, ['one', aLock(later(9), at(0, 0, 2))]),
    endLock(
      locked(4, ['one', aLock(later(9), at(0, 0, 2))]),
      'one',
      'released',
      nowMs,
      '',
      againAfter('again', { delayMs: 99, overtake: false }, nowMs),
    ),
    [],
  ],
  [
    'A retry that comes due is no lock that expired; its items are there again.',
    locked(2, ['again', { ...aLock(nowMs, at(0, 0, 2)), signs: 'w' }]),
    endExpired(locked(2, ['again', { ...aLock(nowMs, at(0, 0, 2)), signs: 'w' }]), nowMs),
    [available],
  ],
  [
    'So is what a retry has kept back, though its own items are dead.',
    locked(4, ['again', { ...aLock(nowMs, at(0, 0, 2)), signs: 'w' }]),
    endLock(
      locked(4, ['again', { ...aLock(nowMs, at(0, 0, 2)), signs: 'w' }]),
      'again',
      'purged',
      nowMs,
    ),
    [available],
  ],
  [
    'A lock that was extended did not expire.',
    oneLock,
    locked(2, ['one', aLock(later(99), at(0, 0, 2))]),
    [],
  ],
  [
    'A purge drains, and expires nothing.',
    twoLocks,
    dry(purgeStep(twoLocks, undefined, nowMs).draft),
    [drained],
  ],
  [
    'Items given up on are told by reason, and drain.',
    dry(oneLock),
    endLock(dry(oneLock), 'one', 'dead-lettered', nowMs, 'bad address'),
    [dead(2, 'bad address'), drained],
  ],
  [
    'Items that came back too often are dead, and not there again.',
    dry(configured(oneLock, 1)),
    endExpired(dry(configured(oneLock, 1)), nowMs),
    [expired(2, [0, 2]), dead(2, 'max_deliveries'), drained],
  ],
  [
    'Items that are dead already are not told twice.',
    deadOf(stored(4), 0, 1),
    deadOf(deadOf(stored(4), 0, 1), 1, 3, 'also no'),
    [dead(2, 'also no')],
  ],
  [
    'Moving the dead away is nothing, and drains nothing that was counted.',
    deadOf(stored(2), 0, 2),
    settle(deadOf(stored(2), 0, 2), [at(0, 0, 2)]),
    [],
  ],
  [
    'A lane that was made anew has deaths of its own.',
    deadOf(stored(2), 0, 2),
    withLane(
      nothing,
      aLane({ epoch: 'epoch-01', tail: tailOf(3), dead: [{ ...range(0, 2), reason: 'no' }] }),
    ),
    [dead(2, 'no'), available],
  ],
  [
    'What only says that claims are to look again brings nothing back.',
    locked(3, ['one', aLock(later(9), at(0, 0, 1))]),
    { ...locked(3, ['one', aLock(later(9), at(0, 0, 1))]), returns: 1 },
    [],
  ],
  [
    'What a lane made anew holds did not come back from a lock.',
    aRecord(
      { 0: aLane({ tail: tailOf(1), frontier: 1 }), 5: aLane({ tail: tailOf(2), frontier: 1 }) },
      { locks: new Map([['one', aLock(later(9), at(0, 0, 1), at(5, 0, 1))]]) },
    ),
    aRecord(
      {
        0: aLane({ epoch: 'epoch-01', tail: tailOf(1) }),
        5: aLane({ tail: tailOf(2), frontier: 1 }),
      },
      { locks: new Map([['one', aLock(later(9), at(5, 0, 1))]]) },
    ),
    [],
  ],
  [
    'A lock whose items die frees what stands behind them.',
    configured(firstLocked, 1),
    endExpired(configured(firstLocked, 1), nowMs),
    [expired(1, [0, 1]), dead(1, 'max_deliveries'), available],
  ],
  [
    'A lock whose items are given up on frees what stands behind them, too.',
    firstLocked,
    endLock(firstLocked, 'one', 'dead-lettered', nowMs, 'bad address'),
    [dead(1, 'bad address'), available],
  ],
  [
    'A purge of a locked priority frees the others.',
    lockedBeside,
    purgeStep(lockedBeside, 0, nowMs).draft,
    [available],
  ],
  [
    'A pop by somebody else, who ends a lock and takes its items for good, frees the others.',
    firstLocked,
    settle(endExpired(firstLocked, nowMs), [at(0, 0, 1)]),
    [expired(1, [0, 1]), available],
  ],
  [
    'Acknowledging in the write of a pop is nothing: its caller is at work.',
    firstLocked,
    endLock(firstLocked, 'one', 'acknowledged', nowMs),
    [],
  ],
  [
    'The sweeper’s first look at items that wait is nothing.',
    stored(2),
    remind(stored(2), nowMs, 60_000),
    [],
  ],
  [
    'The sweeper’s announcement, when nobody came, tells of items.',
    remind(stored(2), later(-60_000), 60_000),
    remind(remind(stored(2), later(-60_000), 60_000), nowMs, 60_000),
    [available],
  ],
  [
    'A write that leaves the announcement as it was announces nothing.',
    announced(stored(2), nowMs),
    { ...announced(stored(2), nowMs), version: 8 },
    [],
  ],
  [
    'An announcement of what somebody took in the same write is none.',
    stored(1),
    settle(announced(stored(1), nowMs), [at(0, 0, 1)]),
    [],
  ],
  ['A write of something else is nothing.', dry(nothing), { ...nothing, version: 8 }, []],
]

describe('A transition', () => {
  it.each(cases)('is found in this write: %s', (_, before, after, expected) => {
    expect(transitionsOf(before, after)).toEqual(expected)
    expect(linesOf(transitionsOf(before, after))).toEqual(naiveTransitions(before, after))
  })

  it('of a lock that is not remembered any more is told by its time.', () => {
    const locks = Array.from({ length: 40 }, (_, index): [string, ReturnType<typeof aLock>] => [
      `lock-${String(index).padStart(6, '0')}`,
      // Every other one lives.
      aLock(later(index % 2 === 0 ? 0 : 1), at(0, index, index + 1)),
    ])
    const before = locked(40, ...locks)
    const after = purgeStep(before, undefined, nowMs).draft
    expect(after.ended).toHaveLength(16)
    const forgottenAndOver = 12
    expect(transitionsOf(before, after).filter(({ kind }) => kind === 'lock-expired')).toHaveLength(
      forgottenAndOver,
    )
  })

  it('is the same whatever order a map comes in.', () => {
    const after = endExpired(twoLocks, later(10))
    const turned = { ...twoLocks, locks: new Map([...twoLocks.locks].reverse()) }
    expect(transitionsOf(turned, after)).toEqual(transitionsOf(twoLocks, after))
  })
})

const linesOf = (transitions: readonly Transition[]): string[] =>
  transitions
    .map((one) => {
      switch (one.kind) {
        case 'lock-expired':
          return `lock-expired ${one.items}`
        case 'item-dead-lettered':
          return `item-dead-lettered ${one.priority} ${one.reason} ${one.items}`
        default:
          return one.kind
      }
    })
    .sort()

/** Whatever a write can do to a record, one thing at a time. */
const anyWrite: fc.Arbitrary<(record: QueueRecord) => QueueRecord> = fc.oneof(
  fc.constant((record: QueueRecord) => endExpired(record, nowMs)),
  fc.constant((record: QueueRecord) => foldDone(record, nowMs)),
  fc.constant((record: QueueRecord) => ({ ...record, dry: !hasFree(record) })),
  fc.constant((record: QueueRecord) => purgeStep(record, undefined, nowMs).draft),
  fc
    .tuple(fc.nat(5), fc.constantFrom('released', 'dead-lettered', 'acknowledged', 'expired'))
    .map(([index, ending]) => (record: QueueRecord) => {
      const lockId = [...record.locks.keys()][index % Math.max(1, record.locks.size)] ?? ''
      return endLock(record, lockId, ending as 'released', nowMs, 'why')
    }),
  fc.tuple(fc.nat(5), fc.boolean()).map(([index, overtake]) => (record: QueueRecord) => {
    const lockId = [...record.locks.keys()][index % Math.max(1, record.locks.size)] ?? ''
    const again = againAfter(`again${record.locks.size}`, { delayMs: 9, overtake }, nowMs)
    return endLock(record, lockId, 'released', nowMs, '', again)
  }),
  fc.constant((record: QueueRecord) => {
    let next = record
    for (const [priority, lane] of record.lanes) {
      next = settle(next, stretchesOf(priority, freeIn(next, lane)))
    }
    return next
  }),
  fc.integer({ min: 1, max: 3 }).map((count) => (record: QueueRecord) => {
    const [lane = aLane()] = record.lanes.values()
    return withLane(record, { ...lane, tail: [...lane.tail, ...tailOf(count)] })
  }),
)

describe('Transitions', () => {
  it('are those that looking at each item finds.', () => {
    fc.assert(
      fc.property(
        anyRecord,
        fc.array(anyWrite, { minLength: 1, maxLength: 3 }),
        (start, writes) => {
          let before: QueueRecord | undefined
          let after = start
          for (const write of [undefined, ...writes]) {
            if (write !== undefined) [before, after] = [after, write(after)]
            expect(linesOf(transitionsOf(before, after))).toEqual(naiveTransitions(before, after))
          }
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('of a write that changed nothing are none, but where a mark was wrong.', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(transitionsOf(record, record)).toEqual([])
        const wrong = transitionsOf({ ...record, dry: true }, record)
        expect(wrong.length).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('name no lock and hold no item.', () => {
    fc.assert(
      fc.property(anyRecord, anyWrite, (record, write) => {
        const text = JSON.stringify(transitionsOf(record, write(record)), (_, value) =>
          value instanceof Map ? [...value] : value,
        )
        expect(text).not.toMatch(/lock-0|tag1/)
      }),
    )
  })
})
