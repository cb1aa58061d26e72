import { queue, type Scenario } from './scenario.ts'
import { configure, lock, pop, push, pushToLanes, pushWithKey, repeat } from './steps.ts'

export const pushScenarios: readonly Scenario[] = [
  { name: 'a push makes the record', before: [], subject: push(), requestsMin: 2 },
  { name: 'a push appends', before: [push()], subject: push(), warm: true, requestsMin: 1 },
  { name: 'a push makes a lane', before: [push()], subject: push(1, 0, 7), requestsMin: 2 },
  {
    name: 'a push to several lanes makes some of them',
    before: [push(1, 0, 1)],
    subject: pushToLanes([0, 1, 2], 2),
    requestsMin: 2,
  },
  {
    name: 'a push by batch rows',
    before: [push()],
    subject: push(5, 400),
    warm: true,
    requestsMin: 2,
  },
  {
    name: 'a push by batch rows makes the record',
    before: [],
    subject: push(150, 12),
    requestsMin: 3,
  },
  {
    name: 'a push by a batch in S3',
    before: [push()],
    subject: (state) => ({
      verb: 'push',
      queue,
      request: { items: Array.from({ length: 300 }, () => ({ text: noise(state.text()) })) },
    }),
    warm: true,
    requestsMin: 2,
  },
  {
    name: 'a push seals the tail it carries over the cap',
    before: repeat(4, push(1, 300)),
    subject: push(1, 300),
    requestsMin: 3,
  },
  {
    name: 'a push of a producer that is alone seals first',
    before: repeat(5, push(1, 300)),
    subject: push(1, 300),
    warm: true,
    requestsMin: 2,
  },
  {
    name: 'a push seals several lanes',
    before: [push(1, 450, 0), push(1, 450, 3)],
    subject: pushToLanes([0, 3], 1, 300),
    requestsMin: 3,
  },
  {
    name: 'a push of a producer that is alone seals several lanes first',
    before: [push(2, 400, 0), push(2, 300, 3), push(1, 100, 3)],
    subject: pushToLanes([0, 3], 1, 300),
    warm: true,
    requestsMin: 2,
  },
  {
    name: 'a push with a key',
    before: [push()],
    subject: pushWithKey('once', '"keyed"'),
    requestsMin: 1,
  },
  {
    name: 'a push with a key makes the record',
    before: [],
    subject: pushWithKey('once', '"keyed"'),
    requestsMin: 2,
  },
  {
    name: 'a push with a key is repeated',
    before: [pushWithKey('once', '"keyed"')],
    subject: pushWithKey('once', '"keyed"'),
    requestsMin: 1,
  },
  {
    name: 'a push is refused by the capacity',
    before: [configure({ capacity: 2 }), push(2)],
    subject: push(),
    requestsMin: 1,
  },
  {
    name: 'a large push is refused by the capacity',
    before: [configure({ capacity: 4 }), push(2)],
    subject: push(5, 400),
    requestsMin: 2,
  },
  {
    name: 'a push to a queue whose items are locked',
    before: [push(3), lock(2)],
    subject: push(),
    requestsMin: 1,
  },
  {
    name: 'a transaction pushes and writes a business row',
    before: [push()],
    subject: transactionalPush,
    requestsMin: 1,
  },
  {
    name: 'a transaction pushes to a queue that is not there',
    before: [],
    subject: transactionalPush,
    requestsMin: 3,
  },
  {
    name: 'a transaction pushes to a lane that is not there',
    before: [push(1, 0, 5), pop()],
    subject: transactionalPush,
    requestsMin: 2,
  },
]

function transactionalPush(state: Parameters<Scenario['subject']>[0]) {
  const text = state.text()
  const businessRow = `business#${text}`
  return { verb: 'pushTransactItem', queue, item: { text }, businessRow } as const
}

/** Does not compress well: a few hundred of these are a batch for S3. */
function noise(text: string): string {
  let state = 1
  for (const character of text) state = (Math.imul(state, 31) + character.charCodeAt(0)) | 0
  let filler = ''
  for (let i = 0; i < 60; i += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) | 0
    filler += (state >>> 0).toString(36).padStart(7, '0').slice(-1)
  }
  return `${text.slice(0, -1)}${filler}"`
}
