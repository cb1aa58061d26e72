import { describe, expect, test } from 'vitest'
import { type Deliveries, type Finding, findFaults } from './deliveries.ts'

const push = (calledAt: number, names: string, answered = true) => ({
  items: names.split(' ').map((name) => ({ name, priority: Number(/\d/.exec(name)?.[0] ?? 0) })),
  calledAt,
  ...(answered && { answeredAt: calledAt + 5 }),
})
const pop = (calledAt: number, names: string, lockId?: string, deliveries = 1) => ({
  items: names.split(' ').map((name) => ({ name, deliveries })),
  calledAt,
  answeredAt: calledAt + 5,
  ...(lockId !== undefined && { lockId }),
})
const acknowledge = (calledAt: number, lockId: string, names: string, answered = true) => ({
  lockId,
  names: names.split(' '),
  calledAt,
  ...(answered && { answeredAt: calledAt + 5 }),
})
const none: Deliveries = { pushes: [], pops: [], acknowledgements: [] }

type Row = readonly [string, Partial<Deliveries>, ...Finding['kind'][]]

const rows: readonly Row[] = [
  ['a queue that nobody used', {}],
  ['pushed and taken', { pushes: [push(0, 'a b')], pops: [pop(10, 'a b')] }],
  [
    'delivered again because its lock expired, then acknowledged',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L'), pop(20, 'a', 'M', 2)],
      acknowledgements: [acknowledge(30, 'M', 'a')],
    },
  ],
  [
    'delivered while its acknowledgement was on the way',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L'), pop(22, 'a', 'M', 2)],
      acknowledgements: [acknowledge(20, 'L', 'a', false), acknowledge(30, 'M', 'a')],
    },
  ],
  [
    'an unanswered acknowledgement may have taken it',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L')],
      acknowledgements: [acknowledge(20, 'L', 'a', false)],
    },
  ],
  ['an unanswered push may be nowhere', { pushes: [push(0, 'a', false)] }],
  [
    'overlapping pushes in either order',
    { pushes: [push(0, 'a'), push(3, 'b')], pops: [pop(20, 'b'), pop(30, 'a')] },
  ],
  [
    'overlapping pops in either order',
    { pushes: [push(0, 'a'), push(10, 'b')], pops: [pop(20, 'b'), pop(24, 'a')] },
  ],
  ['lost', { pushes: [push(0, 'a b')], pops: [pop(10, 'a')] }, 'lost'],
  [
    'lost: locked, never acknowledged, and never seen again',
    { pushes: [push(0, 'a')], pops: [pop(10, 'a', 'L')] },
    'lost',
  ],
  ['invented', { pops: [pop(0, 'a')] }, 'invented'],
  ['delivered before it was pushed', { pushes: [push(10, 'a')], pops: [pop(0, 'a')] }, 'invented'],
  [
    'delivered after an answered acknowledgement',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L'), pop(30, 'a', 'M', 2)],
      acknowledgements: [acknowledge(20, 'L', 'a')],
    },
    'delivered again',
  ],
  [
    'taken, and taken again',
    { pushes: [push(0, 'a')], pops: [pop(10, 'a'), pop(20, 'a', undefined, 2)] },
    'delivered again',
  ],
  [
    'handed to two at the same time',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L'), pop(12, 'a', 'M')],
      acknowledgements: [acknowledge(20, 'L', 'a')],
    },
    'delivered twice at once',
  ],
  [
    'acknowledged under the first of two locks',
    {
      pushes: [push(0, 'a')],
      pops: [pop(10, 'a', 'L'), pop(20, 'a', 'M', 2)],
      acknowledgements: [acknowledge(30, 'L', 'a')],
    },
    'delivered twice at once',
  ],
  [
    'the later of two came first',
    { pushes: [push(0, 'a'), push(10, 'b')], pops: [pop(20, 'b'), pop(30, 'a')] },
    'out of order',
  ],
  [
    'the later of one push came first',
    { pushes: [push(0, 'a b')], pops: [pop(20, 'b'), pop(30, 'a')] },
    'out of order',
  ],
  ['one answer upside down', { pushes: [push(0, 'a b')], pops: [pop(20, 'b a')] }, 'out of order'],
  [
    'a worse priority came first',
    { pushes: [push(0, 'a1 b0')], pops: [pop(20, 'a1'), pop(30, 'b0')] },
    'out of order',
  ],
  [
    'taken, and in the dead-letter queue as well',
    { pushes: [push(0, 'a')], pops: [pop(10, 'a')], elsewhere: ['a'] },
    'in two places',
  ],
  [
    'twice in the dead-letter queue',
    { pushes: [push(0, 'a')], elsewhere: ['a', 'a'] },
    'in two places',
  ],
  [
    'left behind by a better priority that had been there',
    { pushes: [push(0, 'a1'), push(10, 'b0')], pops: [pop(20, 'a1'), pop(30, 'b0')] },
    'out of order',
  ],
  [
    'taken by a pop that got no answer',
    { pushes: [push(0, 'a b')], unseen: { least: 0, most: 2 } },
  ],
  [
    'more is gone than such a pop may have taken',
    { pushes: [push(0, 'a b')], unseen: { least: 0, most: 1 } },
    'lost',
  ],
  [
    'purged, and delivered all the same',
    { pushes: [push(0, 'a')], pops: [pop(10, 'a')], unseen: { least: 1, most: 1 } },
    'in two places',
  ],
  [
    'delivered while an exclusive lock was live',
    {
      pushes: [push(0, 'a b')],
      pops: [
        { ...pop(10, 'a', 'L'), exclusiveUntilMs: 1000, answeredAtMs: 15 },
        { ...pop(20, 'b', 'M'), exclusiveUntilMs: 1010, answeredAtMs: 25 },
      ],
      acknowledgements: [acknowledge(30, 'L', 'a'), acknowledge(30, 'M', 'b')],
    },
    'locked twice',
  ],
]

describe('the checks of deliveries find what is wrong, and no more:', () => {
  const cases = rows.map(([name, deliveries, ...kinds]) => ({ name, deliveries, kinds }))
  test.each(cases)('$name', ({ deliveries, kinds }) => {
    const found = new Set(findFaults({ ...none, ...deliveries }).map(({ kind }) => kind))
    expect([...found]).toEqual(kinds)
  })
})
