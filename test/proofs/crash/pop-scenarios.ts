import { cold, queue, type Scenario, type Step, warm } from './scenario.ts'
import {
  acknowledge,
  claim,
  configure,
  housekeep,
  lock,
  pop,
  push,
  pushToLanes,
  repeat,
  smallSegments,
} from './steps.ts'

/** Acknowledges the last lock and pops in the same write. */
const combined =
  (competing: boolean): Step =>
  (state) => ({
    verb: 'pop',
    queue,
    request: {
      count: 2,
      requireAck: true,
      ttlSeconds: 30,
      competing,
      acknowledge: state.lock.lockId,
    },
  })

const keyed: Step = () => ({
  verb: 'pop',
  queue,
  request: { count: 2, requireAck: true, ttlSeconds: 30, idempotencyKey: 'pop-once' },
})

/** Acknowledges the last lock, and waits for the next. */
const combinedAndWait: Step = (state) => ({
  verb: 'pop',
  queue,
  request: { requireAck: true, acknowledge: state.lock.lockId, waitSeconds: 1 },
})

const deep = [smallSegments, ...repeat(12, push(1, 300))]

export const popScenarios: readonly Scenario[] = [
  cold('a pop finds no record', [], pop(), 1),
  cold('a pop finds nothing', [push(), pop()], pop(), 1),
  cold('a pop without acknowledgement', [push(3)], pop(), 2),
  warm('a pop without acknowledgement, warm', [push(3)], pop({ count: 2 }), 1),
  warm('an exclusive pop', [push(3)], lock(2), 1),
  cold('an exclusive pop meets a lock', [push(3), lock(1)], lock(1), 1),
  cold('an exclusive pop ends an expired lock', [push(3), lock(2)], lock(3), 2, 31_000),
  warm('a competing pop is the first one, under the fence', [push(3)], claim(), 1),
  warm('a claim', [push(6), claim()], claim(2), 1),
  cold('a claim from a stale memory', [push(6), claim(), push()], claim(2), 2),
  warm('a large claim', [push(30), claim()], claim(20), 1),
  warm('a claim that acknowledges', [push(6), claim(), claim()], combined(true), 1),
  warm('an exclusive pop that acknowledges', [push(6), lock(2)], combined(false), 1),
  warm('a pop that acknowledges and finds nothing', [push(1), lock(1)], combined(false), 1),
  cold('a pop with a key', [push(4)], keyed, 2),
  cold('a pop with a key is repeated', [push(4), keyed], keyed, 1),
  warm('a pop crosses lanes', [pushToLanes([0, 2, 5], 2)], lock(5), 1),
  cold('a pop reads sealed items', [...repeat(12, push(1, 300))], lock(10), 3),
  cold('a pop reads S3, chunks and the tail', [...deep, housekeep], lock(12), 4),
  cold('a pop reads a batch', [push(120, 12)], lock(100), 2),
  cold(
    'a pop after claims that are done',
    [push(8), claim(), ...repeat(3, claim(), acknowledge)],
    pop({ count: 2, competing: true }),
    2,
  ),
  cold('a pop waits in vain', [push(), pop()], pop({ waitSeconds: 1 }), 6),
  cold('a pop waits at a lock', [push(2), lock(1)], lock(1, { waitSeconds: 1 }), 6),
  cold(
    'a pop waits for the end of a lock',
    [push(2), lock(1, { ttlSeconds: 1 })],
    lock(1, { waitSeconds: 3 }),
    6,
  ),
  warm('a pop acknowledges and waits in vain', [push(1), lock(1)], combinedAndWait, 6),
  warm(
    'a pop with a key waits in vain',
    [push(1), pop()],
    lock(1, { waitSeconds: 1, idempotencyKey: 'waits' }),
    6,
  ),
  cold(
    'a pop makes items die',
    [configure({ maxDeliveries: 1 }), push(3), lock(2)],
    lock(1),
    2,
    31_000,
  ),
]
