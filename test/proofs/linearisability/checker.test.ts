// The checker has to be able to say no: histories made by hand, right ones beside wrong ones.

import { describe, expect, test } from 'vitest'
import { type Call, checkHistory } from './checker.ts'
import { precedenceOf } from './precedence.ts'
import {
  type QueueAnswer,
  type QueueOperation,
  type QueueSettings,
  queueModel,
} from './queue-model.ts'

type QueueCall = Call<QueueOperation, QueueAnswer>
type Expected = 'linearisable' | 'violation'
type Row = {
  readonly name: string
  readonly settings?: QueueSettings
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

const oneAfterTheOther = (...steps: [QueueOperation, QueueAnswer?][]): QueueCall[] =>
  steps.map(([operation, answer], index) => call(index * 10, index * 10 + 5, operation, answer))

const right: readonly Row[] = [
  { name: 'nothing happened', calls: [] },
  {
    name: 'first in, first out, and empty at the end',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [push('b'), pushed('b')],
      [take(), items('a')],
      [take(), items('b')],
      [take(), empty],
    ),
  },
  {
    name: 'a better priority first, one pop over several lanes',
    calls: oneAfterTheOther(
      [push('a2', 'b0', 'c1'), pushed('a2', 'b0', 'c1')],
      [take(5), items('b0 c1 a2')],
    ),
  },
  {
    name: 'overlapping pushes come in either order',
    calls: [
      call(0, 10, push('a'), pushed('a')),
      call(0, 10, push('b'), pushed('b')),
      call(20, 30, take(2), items('b a')),
    ],
  },
  {
    name: 'a pop that overlaps a push sees it or does not',
    calls: [
      call(0, 10, push('a'), pushed('a')),
      call(5, 15, take(), empty),
      call(6, 16, take(), items('a')),
    ],
  },
  {
    name: 'a push without an answer took effect much later',
    calls: [
      call(0, 5, push('a')),
      call(10, 15, take(), empty),
      call(20, 25, take(), empty),
      call(30, 35, take(), items('a')),
    ],
  },
  {
    name: 'a push without an answer never took effect',
    calls: [
      call(0, 5, push('a')),
      call(10, 15, push('b'), pushed('b')),
      call(20, 25, take(), items('b')),
    ],
  },
  {
    name: 'a pop without an answer took two of three items that it asked for',
    calls: [
      call(0, 5, push('a', 'b', 'c'), pushed('a', 'b', 'c')),
      call(10, 15, claim(3, { attempt: 'lost' })),
      call(20, 25, claim(3), items('c', under('L'))),
    ],
  },
  {
    name: 'a lock without an answer keeps an exclusive queue locked',
    calls: [
      call(0, 5, push('a', 'b'), pushed('a', 'b')),
      call(10, 15, lock(1, { attempt: 'lost' })),
      call(20, 25, take(), locked(777)),
    ],
  },
  {
    name: 'fewer than asked for, and it says so',
    calls: oneAfterTheOther(
      [push('a', 'b', 'c'), pushed('a', 'b', 'c')],
      [take(3), items('a', { more: true })],
      [take(3), items('b c')],
    ),
  },
  {
    name: 'released items come first again, in order, delivered once more',
    calls: oneAfterTheOther(
      [push('a', 'b', 'c'), pushed('a', 'b', 'c')],
      [claim(2), items('a b', under('L'))],
      [claim(1), items('c', under('M'))],
      [release('L'), settled(2)],
      [claim(2), items('a b', under('N'), 2)],
      [take(1), locked()],
    ),
  },
  {
    name: 'a part is acknowledged, the rest comes back',
    calls: oneAfterTheOther(
      [push('a', 'b', 'c'), pushed('a', 'b', 'c')],
      [lock(3), items('a b c', under('L'))],
      [acknowledge('L', 'b'), settled(1)],
      [release('L'), settled(2)],
      [take(3), items('a c', {}, 2)],
    ),
  },
  {
    name: 'the combined call settles one lock and takes the next',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L'))],
      [lock(1, { acknowledge: 'L' }), items('b', { ...under('M'), itemsAcknowledged: 1 })],
      [lock(1, { acknowledge: 'M' }), { kind: 'empty', itemsAcknowledged: 1 }],
      [acknowledge('M'), settled(1)],
    ),
  },
  {
    name: 'a repeated acknowledge gets its answer, an unknown lock its error',
    calls: oneAfterTheOther(
      [push('a', 'b', 'c'), pushed('a', 'b', 'c')],
      [acknowledge('L'), refused('LOCK_NOT_FOUND')],
      [claim(2), items('a b', under('L'))],
      [acknowledge('?'), refused('INVALID_LOCK_ID')],
      [acknowledge('L')],
      [acknowledge('L'), settled(2)],
      [acknowledge('?'), refused('LOCK_NOT_FOUND')],
    ),
  },
  {
    name: 'a push repeated with its key has one effect',
    calls: oneAfterTheOther(
      [keyed('k', 'a')],
      [keyed('k', 'a'), pushed('a')],
      [keyed('k', 'a'), pushed('a')],
      [take(), items('a')],
      [keyed('k', 'a'), pushed('a')],
      [take(), empty],
    ),
  },
  {
    name: 'a pop repeated with its key gets its lock',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(1, { key: 'k', attempt: 'one' })],
      [lock(1, { key: 'k', attempt: 'two' }), items('a', under('L'))],
      [acknowledge('L'), settled(1)],
      [lock(1), items('b', under('M'))],
    ),
  },
  {
    name: 'purge takes what is there, locks too',
    calls: oneAfterTheOther(
      [push('a0', 'b1', 'c1'), pushed('a0', 'b1', 'c1')],
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
          lockedCount: 1,
          lanes: [{ priority: 0, count: 1 }],
          locks: [{ expiresAtMs: 900, count: 1 }],
        },
      ],
      [{ kind: 'purge' }, { kind: 'purged', items: 1 }],
      [take(), empty],
    ),
  },
  {
    name: 'a full queue refuses, and takes again when something is settled',
    settings: { capacity: 2 },
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [push('c'), refused('QUEUE_FULL')],
      [claim(1), items('a', under('L'))],
      [push('c'), refused('QUEUE_FULL')],
      [acknowledge('L'), settled(1)],
      [push('c'), pushed('c')],
    ),
  },
  {
    name: 'browsing shows what is there, in order, locked items too',
    calls: oneAfterTheOther(
      [push('a1', 'b0', 'c1'), pushed('a1', 'b0', 'c1')],
      [claim(1), items('b0', under('L'))],
      [{ kind: 'browse', limit: 2 }, page([shown('b0', 'locked'), shown('a1')], true)],
      [{ kind: 'browse', limit: 3 }, page([shown('b0', 'locked'), shown('a1'), shown('c1')])],
    ),
  },
  {
    name: 'a push survives the purge that it overlaps',
    calls: [
      call(0, 5, push('a'), pushed('a')),
      call(10, 30, { kind: 'purge', survivors: new Set('b') }, { kind: 'purged', items: 1 }),
      call(12, 15, push('b'), pushed('b')),
      call(40, 45, take(), items('b')),
    ],
  },
  {
    name: 'an item that came back too often is gone',
    settings: { maxDeliveries: 2 },
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [lock(), items('a', under('M'), 2)],
      [release('M'), settled(1)],
      [take(2), items('b')],
      [{ kind: 'dead-letters' }, { kind: 'dead', names: ['a'] }],
    ),
  },
]

const wrong: readonly Row[] = [
  {
    name: 'a queue was full that had room',
    settings: { capacity: 2 },
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [take(), items('a')],
      [push('c'), refused('QUEUE_FULL')],
    ),
  },
  {
    name: 'a full queue took more',
    settings: { capacity: 1 },
    calls: oneAfterTheOther([push('a'), pushed('a')], [push('b'), pushed('b')]),
  },
  {
    name: 'browsing showed an item as ready that was locked',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [claim(1), items('a', under('L'))],
      [{ kind: 'browse', limit: 2 }, page([shown('a')])],
    ),
  },
  {
    name: 'an item vanished',
    calls: oneAfterTheOther([push('a'), pushed('a')], [take(), empty]),
  },
  {
    name: 'an item came from nowhere',
    calls: oneAfterTheOther([push('a'), pushed('a')], [take(2), items('a b')]),
  },
  {
    name: 'the later of two pushes came first',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [push('b'), pushed('b')],
      [take(), items('b')],
      [take(), items('a')],
    ),
  },
  {
    name: 'a worse priority came first',
    calls: oneAfterTheOther([push('a1', 'b0'), pushed('a1', 'b0')], [take(), items('a1')]),
  },
  {
    name: 'an item was handed out twice at the same time',
    calls: [
      call(0, 5, push('a'), pushed('a')),
      call(10, 20, claim(), items('a', under('L'))),
      call(10, 20, claim(), items('a', under('M'))),
    ],
  },
  {
    name: 'an item came again after it was acknowledged',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [acknowledge('L'), settled(1)],
      [take(), items('a', {}, 2)],
    ),
  },
  {
    name: 'half a push was seen',
    calls: [
      call(0, 30, push('a', 'b'), pushed('a', 'b')),
      call(10, 15, take(2), items('a')),
      call(20, 25, take(2), items('b')),
    ],
  },
  {
    name: 'a push without an answer took effect before it was called',
    calls: [call(0, 5, take(), items('a')), call(10, 15, push('a'))],
  },
  {
    name: 'a push without an answer took effect twice',
    calls: [
      call(0, 5, push('a')),
      call(10, 15, take(), items('a')),
      call(20, 25, take(), items('a')),
    ],
  },
  {
    name: 'fewer than asked for, and it does not say so',
    calls: oneAfterTheOther([push('a', 'b'), pushed('a', 'b')], [take(2), items('a')]),
  },
  {
    name: 'it says more where nothing was left out',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [take(1), items('a', { more: true })],
    ),
  },
  {
    name: 'a pop passed over the first item',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [take(2), items('b', { more: true })],
    ),
  },
  {
    name: 'an exclusive pop did not see the lock',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L'))],
      [take(), items('b')],
    ),
  },
  {
    name: 'locked by a lock that was released before',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [take(), locked()],
    ),
  },
  {
    name: 'locked until a time that no lock has',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L', 900))],
      [take(), locked(901)],
    ),
  },
  {
    name: 'a released item went behind the others',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [take(), items('b')],
    ),
  },
  {
    name: 'a second delivery says it is the first',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [take(), items('a')],
    ),
  },
  {
    name: 'an item came under another id than it was pushed with',
    calls: oneAfterTheOther([push('a'), pushed('other')], [take(), items('a')]),
  },
  {
    name: 'an acknowledge counted wrong',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [acknowledge('L'), settled(2)],
    ),
  },
  {
    name: 'a lock ended twice, each way',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [acknowledge('L'), settled(1)],
    ),
  },
  {
    name: 'the combined call took the next item and did not settle',
    calls: oneAfterTheOther(
      [push('a', 'b'), pushed('a', 'b')],
      [claim(), items('a', under('L'))],
      [claim(1, { acknowledge: 'L' }), items('b', { ...under('M'), itemsAcknowledged: 1 })],
      [release('L'), settled(1)],
    ),
  },
  {
    name: 'a key had two effects',
    calls: oneAfterTheOther(
      [keyed('k', 'a'), pushed('a')],
      [keyed('k', 'a'), pushed('a')],
      [take(2), items('a a')],
    ),
  },
  {
    name: 'a purge counted a push that came after it',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [{ kind: 'purge' }, { kind: 'purged', items: 2 }],
      [push('b'), pushed('b')],
    ),
  },
  {
    name: 'a purge took a push that came after it',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [{ kind: 'purge' }, { kind: 'purged', items: 1 }],
      [push('b'), pushed('b')],
      [take(), empty],
    ),
  },
  {
    name: 'a count from before a push that was over',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [{ kind: 'inspect' }, { kind: 'state', count: 0, lockedCount: 0, lanes: [], locks: [] }],
    ),
  },
  {
    name: 'an item was delivered once more than allowed',
    settings: { maxDeliveries: 1 },
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [release('L'), settled(1)],
      [take(), items('a', {}, 2)],
    ),
  },
  {
    name: 'a dead item vanished',
    calls: oneAfterTheOther(
      [push('a'), pushed('a')],
      [lock(), items('a', under('L'))],
      [settle('deadLetter', 'L'), settled(1)],
      [{ kind: 'dead-letters' }, { kind: 'dead', names: [] }],
    ),
  },
  {
    name: 'a lost update: two overlapping pushes were answered, one is there',
    calls: [
      call(0, 10, push('a'), pushed('a')),
      call(0, 10, push('b'), pushed('b')),
      call(20, 30, take(2), items('b')),
      call(40, 50, take(2), empty),
    ],
  },
]

describe('the checker of histories', () => {
  for (const [expected, rows] of [
    ['linearisable', right],
    ['violation', wrong],
  ] as [Expected, readonly Row[]][]) {
    test.each(rows)(`${expected}: $name`, ({ settings, calls }) => {
      expect(checkHistory(queueModel(settings), calls).kind).toBe(expected)
      // What the answers give away may only make it faster.
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
      oneAfterTheOther([push('a'), pushed('a')], [push('b'), pushed('b')], [take(), items('b')]),
    )
    expect(verdict).toMatchObject({ kind: 'violation', order: [0, 1], stuck: [2] })
  })
})
