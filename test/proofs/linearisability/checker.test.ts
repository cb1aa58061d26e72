// The checker has to be able to say no: histories made by hand, right ones beside wrong ones.

import { describe, expect, test } from 'vitest'
import { type Call, checkHistory } from './checker.ts'
import { precedenceOf } from './precedence.ts'
import { type QueueSettings, queueModel } from './queue-model.ts'
import type { QueueAnswer, QueueOperation } from './queue-state.ts'

type QueueCall = Call<QueueOperation, QueueAnswer>
type Expected = 'linearisable' | 'violation'
type Row = {
  readonly name: string
  readonly settings: QueueSettings
  readonly calls: readonly QueueCall[]
}

/** From time to time; without an answer the outcome is unknown. */
function call(
  calledAt: number,
  returnedAt: number,
  operation: QueueOperation,
  answer?: QueueAnswer,
): QueueCall {
  return { calledAt, returnedAt, operation, ...(answer && { answer }) }
}

const push = (...names: string[]): QueueOperation => ({
  kind: 'push',
  items: names.map((name) => ({ name, priority: Number(/\d/.exec(name)?.[0] ?? 0) })),
})
const keyed = (key: string, ...names: string[]) => ({ ...push(...names), key }) as QueueOperation
const pushed = (...names: string[]): QueueAnswer => ({
  kind: 'pushed',
  ids: names.map((name) => `#${name}`),
})

/** Pushed, and answered. */
const put = (...names: string[]): [QueueOperation, QueueAnswer] => [
  push(...names),
  pushed(...names),
]

type PopOptions = Partial<Extract<QueueOperation, { kind: 'pop' }>>
const take = (count = 1, options: PopOptions = {}): QueueOperation => ({
  kind: 'pop',
  count,
  requireAck: false,
  competing: false,
  attempt: 'x',
  ...options,
})
const lock = (count = 1, options: PopOptions = {}) => take(count, { requireAck: true, ...options })
const claim = (count = 1, options: PopOptions = {}) => lock(count, { competing: true, ...options })

type ItemsAnswer = Extract<QueueAnswer, { kind: 'items' }>
function items(names: string, options: Partial<ItemsAnswer> = {}, deliveries = 1): QueueAnswer {
  const popped = names.split(' ').map((name) => ({
    name,
    id: `#${name}`,
    priority: Number(/\d/.exec(name)?.[0] ?? 0),
    deliveries,
  }))
  return { kind: 'items', items: popped, more: false, ...options }
}
const under = (id: string, expiresAtMs = 900) => ({ lock: { id, expiresAtMs } })
const empty: QueueAnswer = { kind: 'empty' }
const locked = (expiresAtMs = 900): QueueAnswer => ({ kind: 'locked', expiresAtMs })
const refused = (code: string): QueueAnswer => ({ kind: 'refused', code })
const settled = (count: number): QueueAnswer => ({ kind: 'settled', items: count })
const settle = (
  verb: 'acknowledge' | 'release' | 'deadLetter',
  lockId: string,
  ...names: string[]
): QueueOperation => ({ kind: 'settle', verb, lockId, ...(names.length > 0 && { names }) })
const acknowledge = (lockId: string, ...names: string[]) => settle('acknowledge', lockId, ...names)
const release = (lockId: string, ...names: string[]) => settle('release', lockId, ...names)

/** Scheduled, and due at any moment; `t-a` is its id. */
const later = (...names: string[]): [QueueOperation, QueueAnswer] => [
  { kind: 'push', items: names.map((name) => ({ name, priority: 0, later: 'soon' })) },
  { kind: 'pushed', ids: names.map((name) => `t-${name}`) },
]
const cancel = (name: string, id = `#${name}`): QueueOperation => ({ kind: 'cancel', name, id })
const moveTo = (priority: number, name: string, id = `#${name}`): QueueOperation => ({
  kind: 'move',
  name,
  id,
  priority,
})
const byId = (result: 'cancelled' | 'locked' | 'gone'): QueueAnswer => ({ kind: 'by-id', result })
const moved = (newId: string): QueueAnswer => ({ kind: 'moved', newId })
const state = (count: number, scheduledCount: number): QueueAnswer => ({
  kind: 'state',
  count,
  scheduledCount,
  lockedCount: 0,
  lanes: count === 0 ? [] : [{ priority: 0, count }],
  locks: [],
})
const handed = (name: string, id: string, priority = 0): QueueAnswer => ({
  kind: 'items',
  items: [{ name, id, priority, deliveries: 1 }],
  more: false,
})

const shown = (name: string, state: 'ready' | 'locked' = 'ready') => ({
  name,
  id: `#${name}`,
  priority: Number(/\d/.exec(name)?.[0] ?? 0),
  deliveries: state === 'locked' ? 1 : 0,
  state,
})
const page = (items: ReturnType<typeof shown>[], more = false): QueueAnswer => ({
  kind: 'page',
  items,
  more,
})

const oneAfterTheOther = (steps: [QueueOperation, QueueAnswer?][]): QueueCall[] =>
  steps.map(([operation, answer], index) => call(index * 10, index * 10 + 5, operation, answer))

const overlapping = (name: string, calls: QueueCall[], settings: QueueSettings = {}): Row => ({
  name,
  settings,
  calls,
})
const row = (name: string, steps: [QueueOperation, QueueAnswer?][], settings?: QueueSettings) =>
  overlapping(name, oneAfterTheOther(steps), settings)

const right: readonly Row[] = [
  row('nothing happened', []),
  row('first in, first out, and empty at the end', [
    put('a'),
    put('b'),
    [take(), items('a')],
    [take(), items('b')],
    [take(), empty],
  ]),
  row('a better priority first, one pop over several lanes', [
    put('a2', 'b0', 'c1'),
    [take(5), items('b0 c1 a2')],
  ]),
  overlapping('overlapping pushes come in either order', [
    call(0, 10, push('a'), pushed('a')),
    call(0, 10, push('b'), pushed('b')),
    call(20, 30, take(2), items('b a')),
  ]),
  overlapping('a pop that overlaps a push sees it or does not', [
    call(0, 10, push('a'), pushed('a')),
    call(5, 15, take(), empty),
    call(6, 16, take(), items('a')),
  ]),
  overlapping('a push without an answer took effect much later', [
    call(0, 5, push('a')),
    call(10, 15, take(), empty),
    call(20, 25, take(), empty),
    call(30, 35, take(), items('a')),
  ]),
  overlapping('a push without an answer never took effect', [
    call(0, 5, push('a')),
    call(10, 15, push('b'), pushed('b')),
    call(20, 25, take(), items('b')),
  ]),
  overlapping('a pop without an answer took two of three items that it asked for', [
    call(0, 5, push('a', 'b', 'c'), pushed('a', 'b', 'c')),
    call(10, 15, claim(3, { attempt: 'lost' })),
    call(20, 25, claim(3), items('c', under('L'))),
  ]),
  overlapping('a lock without an answer keeps an exclusive queue locked', [
    call(0, 5, push('a', 'b'), pushed('a', 'b')),
    call(10, 15, lock(1, { attempt: 'lost' })),
    call(20, 25, take(), locked(777)),
  ]),
  row('fewer than asked for, and it says so', [
    put('a', 'b', 'c'),
    [take(3), items('a', { more: true })],
    [take(3), items('b c')],
  ]),
  row('released items come first again, in order, delivered once more', [
    put('a', 'b', 'c'),
    [claim(2), items('a b', under('L'))],
    [claim(1), items('c', under('M'))],
    [release('L'), settled(2)],
    [claim(2), items('a b', under('N'), 2)],
    [take(1), locked()],
  ]),
  row('a part is acknowledged, the rest comes back', [
    put('a', 'b', 'c'),
    [lock(3), items('a b c', under('L'))],
    [acknowledge('L', 'b'), settled(1)],
    [release('L'), settled(2)],
    [take(3), items('a c', {}, 2)],
  ]),
  row('the combined call settles one lock and takes the next', [
    put('a', 'b'),
    [lock(), items('a', under('L'))],
    [lock(1, { acknowledge: 'L' }), items('b', { ...under('M'), itemsAcknowledged: 1 })],
    [lock(1, { acknowledge: 'M' }), { kind: 'empty', itemsAcknowledged: 1 }],
    [acknowledge('M'), settled(1)],
  ]),
  row('a repeated acknowledge gets its answer, an unknown lock its error', [
    put('a', 'b', 'c'),
    [acknowledge('L'), refused('LOCK_NOT_FOUND')],
    [claim(2), items('a b', under('L'))],
    [acknowledge('?'), refused('INVALID_LOCK_ID')],
    [acknowledge('L')],
    [acknowledge('L'), settled(2)],
    [acknowledge('?'), refused('LOCK_NOT_FOUND')],
  ]),
  row('a push repeated with its key has one effect', [
    [keyed('k', 'a')],
    [keyed('k', 'a'), pushed('a')],
    [keyed('k', 'a'), pushed('a')],
    [take(), items('a')],
    [keyed('k', 'a'), pushed('a')],
    [take(), empty],
  ]),
  row('a pop repeated with its key gets its lock', [
    put('a', 'b'),
    [lock(1, { key: 'k', attempt: 'one' })],
    [lock(1, { key: 'k', attempt: 'two' }), items('a', under('L'))],
    [acknowledge('L'), settled(1)],
    [lock(1), items('b', under('M'))],
  ]),
  row('an item that a purge took from its lock counts as acknowledged, and cannot be released', [
    put('a0', 'b1'),
    [claim(2), items('a0 b1', under('L'))],
    [
      { kind: 'purge', priority: 1 },
      { kind: 'purged', items: 1 },
    ],
    [release('L', 'b1'), refused('INVALID_PARAMETER')],
    [acknowledge('L', 'b1'), settled(1)],
    [acknowledge('L', 'a0', 'b1'), settled(2)],
  ]),
  row('purge takes what is there, locks too', [
    put('a0', 'b1', 'c1'),
    [claim(2), items('a0 b1', under('L'))],
    [
      { kind: 'purge', priority: 1 },
      { kind: 'purged', items: 2 },
    ],
    [
      { kind: 'inspect' },
      {
        kind: 'state',
        count: 1,
        scheduledCount: 0,
        lockedCount: 1,
        lanes: [{ priority: 0, count: 1 }],
        locks: [{ expiresAtMs: 900, count: 1 }],
      },
    ],
    [{ kind: 'purge' }, { kind: 'purged', items: 1 }],
    [take(), empty],
  ]),
  row(
    'a full queue refuses, and takes again when something is settled',
    [
      put('a', 'b'),
      [push('c'), refused('QUEUE_FULL')],
      [claim(1), items('a', under('L'))],
      [push('c'), refused('QUEUE_FULL')],
      [acknowledge('L'), settled(1)],
      put('c'),
    ],
    { capacity: 2 },
  ),
  row('browsing shows what is there, in order, locked items too', [
    put('a1', 'b0', 'c1'),
    [claim(1), items('b0', under('L'))],
    [{ kind: 'browse', limit: 2 }, page([shown('b0', 'locked'), shown('a1')], true)],
    [{ kind: 'browse', limit: 3 }, page([shown('b0', 'locked'), shown('a1'), shown('c1')])],
  ]),
  overlapping('a push survives the purge that it overlaps', [
    call(0, 5, push('a'), pushed('a')),
    call(10, 30, { kind: 'purge', survivors: new Set('b') }, { kind: 'purged', items: 1 }),
    call(12, 15, push('b'), pushed('b')),
    call(40, 45, take(), items('b')),
  ]),
  row(
    'an item that came back too often is gone',
    [
      put('a', 'b'),
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [lock(), items('a', under('M'), 2)],
      [release('M'), settled(1)],
      [take(2), items('b')],
      [{ kind: 'dead-letters' }, { kind: 'dead', names: ['a'] }],
    ],
    { maxDeliveries: 2 },
  ),
  row('a cancelled item is in no pop, and its id is gone from then on', [
    put('a', 'b'),
    [cancel('a'), byId('cancelled')],
    [take(), items('b')],
    [cancel('a'), byId('gone')],
    [cancel('b'), byId('gone')],
  ]),
  overlapping('a cancel and a pop at once: the pop was first', [
    call(0, 5, push('a'), pushed('a')),
    call(10, 20, cancel('a'), byId('gone')),
    call(10, 20, take(), items('a')),
  ]),
  overlapping('a cancel and a pop at once: the cancel was first', [
    call(0, 5, push('a', 'b'), pushed('a', 'b')),
    call(10, 20, cancel('a'), byId('cancelled')),
    call(10, 20, take(), items('b')),
  ]),
  overlapping('a cancel without an answer took effect, or did not', [
    call(0, 5, push('a', 'b'), pushed('a', 'b')),
    call(10, 15, cancel('a')),
    call(10, 15, cancel('b')),
    call(20, 25, take(2), items('b')),
  ]),
  row('what a consumer holds is locked for a cancel and for a move', [
    put('a'),
    [lock(), items('a', under('L'))],
    [cancel('a'), byId('locked')],
    [moveTo(1, 'a'), byId('locked')],
    [release('L'), settled(1)],
    [cancel('a'), byId('cancelled')],
  ]),
  row('a scheduled item is taken back, and another joins under an id that nobody knew', [
    later('a', 'b'),
    [cancel('a', 't-a'), byId('cancelled')],
    [take(2), handed('b', '#b')],
    [cancel('b', 't-b'), byId('gone')],
    [{ kind: 'inspect' }, state(0, 0)],
  ]),
  overlapping('a cancel of a scheduled item and a pop at once: it had joined', [
    call(0, 5, ...later('a')),
    call(10, 20, cancel('a', 't-a'), byId('gone')),
    call(10, 20, take(), handed('a', '#a')),
  ]),
  row('a scheduled item stays scheduled when it is moved, and is gone by its old id', [
    later('a'),
    [moveTo(2, 'a', 't-a'), moved('t-a2')],
    [cancel('a', 't-a'), byId('gone')],
    [take(), handed('a', '#a', 2)],
  ]),
  row('a moved item comes behind those of its new priority', [
    put('a0', 'b1'),
    [moveTo(1, 'a0'), moved('#new')],
    [cancel('a0'), byId('gone')],
    [take(), items('b1')],
    [take(), handed('a0', '#new', 1)],
  ]),
  row('an item that is where it was to go keeps its id', [
    put('a'),
    [moveTo(0, 'a'), moved('#a')],
    [take(), items('a')],
  ]),
]

const wrong: readonly Row[] = [
  row('an item was cancelled, and popped after that', [
    put('a'),
    [cancel('a'), byId('cancelled')],
    [take(), items('a')],
  ]),
  overlapping('an item was cancelled, and popped at the same time', [
    call(0, 5, push('a'), pushed('a')),
    call(10, 20, cancel('a'), byId('cancelled')),
    call(10, 20, take(), items('a')),
  ]),
  row('an item that waited was gone for a cancel, and popped after that', [
    put('a'),
    [cancel('a'), byId('gone')],
    [take(), items('a')],
  ]),
  row('an item was cancelled twice', [
    put('a'),
    [cancel('a'), byId('cancelled')],
    [cancel('a'), byId('cancelled')],
  ]),
  row('a cancel took what a consumer held', [
    put('a'),
    [lock(), items('a', under('L'))],
    [cancel('a'), byId('cancelled')],
  ]),
  overlapping('a scheduled item was cancelled, and popped at the same time', [
    call(0, 5, ...later('a')),
    call(10, 20, cancel('a', 't-a'), byId('cancelled')),
    call(10, 20, take(), handed('a', '#a')),
  ]),
  row('a scheduled item was handed out twice', [
    later('a'),
    [take(), handed('a', '#a')],
    [take(), handed('a', '#other')],
  ]),
  row('a scheduled item vanished', [later('a'), [{ kind: 'inspect' }, state(0, 0)]]),
  row('a scheduled item was gone before it joined', [
    later('a'),
    [cancel('a', 't-a'), byId('gone')],
    [{ kind: 'inspect' }, state(0, 1)],
  ]),
  row('a moved item came from its old place', [
    put('a0', 'b1'),
    [moveTo(1, 'a0'), moved('#new')],
    [take(), items('a0')],
  ]),
  overlapping('an item was moved, and popped from its old place at the same time', [
    call(0, 5, push('a0', 'b1'), pushed('a0', 'b1')),
    call(10, 20, moveTo(1, 'a0'), moved('#new')),
    call(10, 20, take(2), items('a0 b1')),
  ]),
  row('a moved item was cancelled by its old id', [
    put('a0'),
    [moveTo(1, 'a0'), moved('#new')],
    [cancel('a0'), byId('cancelled')],
  ]),
  row(
    'a queue was full that had room',
    [put('a', 'b'), [take(), items('a')], [push('c'), refused('QUEUE_FULL')]],
    { capacity: 2 },
  ),
  row('a full queue took more', [put('a'), put('b')], { capacity: 1 }),
  row('browsing showed an item as ready that was locked', [
    put('a'),
    [claim(1), items('a', under('L'))],
    [{ kind: 'browse', limit: 2 }, page([shown('a')])],
  ]),
  row('an item vanished', [put('a'), [take(), empty]]),
  row('an item came from nowhere', [put('a'), [take(2), items('a b')]]),
  row('the later of two pushes came first', [
    put('a'),
    put('b'),
    [take(), items('b')],
    [take(), items('a')],
  ]),
  row('a worse priority came first', [put('a1', 'b0'), [take(), items('a1')]]),
  overlapping('an item was handed out twice at the same time', [
    call(0, 5, push('a'), pushed('a')),
    call(10, 20, claim(), items('a', under('L'))),
    call(10, 20, claim(), items('a', under('M'))),
  ]),
  row('an item came again after it was acknowledged', [
    put('a'),
    [lock(), items('a', under('L'))],
    [acknowledge('L'), settled(1)],
    [take(), items('a', {}, 2)],
  ]),
  overlapping('half a push was seen', [
    call(0, 30, push('a', 'b'), pushed('a', 'b')),
    call(10, 15, take(2), items('a')),
    call(20, 25, take(2), items('b')),
  ]),
  overlapping('a push without an answer took effect before it was called', [
    call(0, 5, take(), items('a')),
    call(10, 15, push('a')),
  ]),
  overlapping('a push without an answer took effect twice', [
    call(0, 5, push('a')),
    call(10, 15, take(), items('a')),
    call(20, 25, take(), items('a')),
  ]),
  row('fewer than asked for, and it does not say so', [put('a', 'b'), [take(2), items('a')]]),
  row('it says more where nothing was left out', [
    put('a', 'b'),
    [take(1), items('a', { more: true })],
  ]),
  row('a pop passed over the first item', [put('a', 'b'), [take(2), items('b', { more: true })]]),
  row('an exclusive pop did not see the lock', [
    put('a', 'b'),
    [lock(), items('a', under('L'))],
    [take(), items('b')],
  ]),
  row('locked by a lock that was released before', [
    put('a', 'b'),
    [lock(), items('a', under('L'))],
    [release('L'), settled(1)],
    [take(), locked()],
  ]),
  row('locked until a time that no lock has', [
    put('a', 'b'),
    [lock(), items('a', under('L', 900))],
    [take(), locked(901)],
  ]),
  row('a released item went behind the others', [
    put('a', 'b'),
    [lock(), items('a', under('L'))],
    [release('L'), settled(1)],
    [take(), items('b')],
  ]),
  row('a second delivery says it is the first', [
    put('a'),
    [lock(), items('a', under('L'))],
    [release('L'), settled(1)],
    [take(), items('a')],
  ]),
  row('an item came under another id than it was pushed with', [
    [push('a'), pushed('other')],
    [take(), items('a')],
  ]),
  row('an acknowledge counted wrong', [
    put('a'),
    [lock(), items('a', under('L'))],
    [acknowledge('L'), settled(2)],
  ]),
  row('a lock ended twice, each way', [
    put('a'),
    [lock(), items('a', under('L'))],
    [release('L'), settled(1)],
    [acknowledge('L'), settled(1)],
  ]),
  row('the combined call took the next item and did not settle', [
    put('a', 'b'),
    [claim(), items('a', under('L'))],
    [claim(1, { acknowledge: 'L' }), items('b', { ...under('M'), itemsAcknowledged: 1 })],
    [release('L'), settled(1)],
  ]),
  row('a key had two effects', [
    [keyed('k', 'a'), pushed('a')],
    [keyed('k', 'a'), pushed('a')],
    [take(2), items('a a')],
  ]),
  row('a purge counted a push that came after it', [
    put('a'),
    [{ kind: 'purge' }, { kind: 'purged', items: 2 }],
    put('b'),
  ]),
  row('a purge took a push that came after it', [
    put('a'),
    [{ kind: 'purge' }, { kind: 'purged', items: 1 }],
    put('b'),
    [take(), empty],
  ]),
  row('a count from before a push that was over', [
    put('a'),
    [
      { kind: 'inspect' },
      { kind: 'state', count: 0, scheduledCount: 0, lockedCount: 0, lanes: [], locks: [] },
    ],
  ]),
  row(
    'an item was delivered once more than allowed',
    [
      put('a'),
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [take(), items('a', {}, 2)],
    ],
    { maxDeliveries: 1 },
  ),
  row('a dead item vanished', [
    put('a'),
    [lock(), items('a', under('L'))],
    [settle('deadLetter', 'L'), settled(1)],
    [{ kind: 'dead-letters' }, { kind: 'dead', names: [] }],
  ]),
  overlapping('a lost update: two overlapping pushes were answered, one is there', [
    call(0, 10, push('a'), pushed('a')),
    call(0, 10, push('b'), pushed('b')),
    call(20, 30, take(2), items('b')),
    call(40, 50, take(2), empty),
  ]),
]

describe('the checker of histories', () => {
  for (const [expected, rows] of [
    ['linearisable', right],
    ['violation', wrong],
  ] as [Expected, readonly Row[]][]) {
    test.each(rows)(`${expected}: $name`, ({ settings, calls }) => {
      expect(checkHistory(queueModel(settings), calls).kind).toBe(expected)
      // Precedence taken from the answers may only make it faster.
      const precedence = precedenceOf(calls)
      expect(checkHistory(queueModel(settings), calls, { precedence }).kind).toBe(expected)
    })
  }

  test('says when it gave up', () => {
    const calls = 'abcdefgh'.split('').map((name) => call(0, 10, push(name), pushed(name)))
    calls.push(call(20, 30, take(), empty))
    expect(checkHistory(queueModel(), calls, { stepsMax: 100 }).kind).toBe('undecided')
  })

  test('explains how far it came', () => {
    const verdict = checkHistory(
      queueModel(),
      oneAfterTheOther([put('a'), put('b'), [take(), items('b')]]),
    )
    expect(verdict).toMatchObject({ kind: 'violation', order: [0, 1], stuck: [2] })
  })
})
