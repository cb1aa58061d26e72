import { cold, queue, type Scenario, warm } from './scenario.ts'
import { configure, lock, pop, push, pushToLanes, pushWithKey, repeat } from './steps.ts'

export const pushScenarios: readonly Scenario[] = [
  cold('a push makes the record', [], push(), 2),
  warm('a push appends', [push()], push(), 1),
  cold('a push makes a lane', [push()], push(1, 0, 7), 2),
  cold('a push to several lanes makes some of them', [push(1, 0, 1)], pushToLanes([0, 1, 2], 2), 2),
  warm('a push by batch rows', [push()], push(5, 400), 2),
  cold('a push by batch rows makes the record', [], push(150, 12), 3),
  // Texts that do not compress: so many of them are too large for rows.
  warm('a push by a batch in S3', [push()], push(300, 68), 2),
  cold('a push seals the tail it carries over the cap', repeat(4, push(1, 300)), push(1, 300), 3),
  cold(
    'a push seals several lanes',
    [push(1, 450, 0), push(1, 450, 3)],
    pushToLanes([0, 3], 1, 300),
    3,
  ),
  cold('a push with a key', [push()], pushWithKey('once', '"keyed"'), 3),
  cold('a push with a key makes the record', [], pushWithKey('once', '"keyed"'), 5),
  cold(
    'a push with a key seals, with its note and others',
    [push(1, 300), pushWithKey('a', '"a"'), pushWithKey('b', '"b"'), push(1, 600)],
    pushWithKey('once', `"${'keyed'.repeat(120)}"`),
    5,
  ),
  cold(
    'a push with a key is repeated',
    [pushWithKey('once', '"keyed"')],
    pushWithKey('once', '"keyed"'),
    1,
  ),
  cold('a push is refused by the capacity', [configure({ capacity: 2 }), push(2)], push(), 1),
  cold(
    'a large push is refused by the capacity',
    [configure({ capacity: 4 }), push(2)],
    push(5, 400),
    2,
  ),
  cold('a push to a queue whose items are locked', [push(3), lock(2)], push(), 1),
  cold('a transaction pushes and writes a business row', [push()], transactionalPush, 1),
  cold('a transaction pushes to a queue that is not there', [], transactionalPush, 3),
  cold(
    'a transaction pushes to a lane that is not there',
    [push(1, 0, 5), pop()],
    transactionalPush,
    2,
  ),
  cold('a loop around a transaction', [push()], transact(), 2),
  cold('a loop around a transaction makes the record', [], transact(), 4),
  cold('a loop around a transaction finds a full tail', repeat(4, push(1, 300)), transact(300), 3),
  cold('a loop around a transaction that its caller refuses', [push()], transact(0, 'refuses'), 2),
]

function transact(bytes = 0, own: 'passes' | 'refuses' = 'passes'): Scenario['subject'] {
  return (state) => {
    const items = state.texts(2, bytes)
    return { verb: 'transact', queue, items, businessRow: `business#${items[0]?.text}`, own }
  }
}

function transactionalPush(state: Parameters<Scenario['subject']>[0]) {
  const text = state.text()
  const businessRow = `business#${text}`
  return { verb: 'pushTransactItem', queue, item: { text }, businessRow } as const
}
