import { queue, type Scenario, type Step } from './scenario.ts'
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

const deep = [smallSegments, ...repeat(12, push(1, 300))]

export const popScenarios: readonly Scenario[] = [
  { name: 'a pop finds no record', before: [], subject: pop(), requestsMin: 1 },
  { name: 'a pop finds nothing', before: [push(), pop()], subject: pop(), requestsMin: 1 },
  { name: 'a pop without acknowledgement', before: [push(3)], subject: pop(), requestsMin: 2 },
  {
    name: 'a pop without acknowledgement, warm',
    before: [push(3)],
    subject: pop({ count: 2 }),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'an exclusive pop',
    before: [push(3)],
    subject: lock(2),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'an exclusive pop meets a lock',
    before: [push(3), lock(1)],
    subject: lock(1),
    requestsMin: 1,
  },
  {
    name: 'an exclusive pop ends an expired lock',
    before: [push(3), lock(2)],
    subject: lock(3),
    waitMs: 31_000,
    requestsMin: 2,
  },
  {
    name: 'a competing pop is the first one, under the fence',
    before: [push(3)],
    subject: claim(),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'a claim',
    before: [push(6), claim()],
    subject: claim(2),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'a claim from a stale memory',
    before: [push(6), claim(), push()],
    subject: claim(2),
    requestsMin: 2,
  },
  {
    name: 'a large claim',
    before: [push(30), claim()],
    subject: claim(20),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'a claim that acknowledges',
    before: [push(6), claim(), claim()],
    subject: combined(true),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'an exclusive pop that acknowledges',
    before: [push(6), lock(2)],
    subject: combined(false),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'a pop that acknowledges and finds nothing',
    before: [push(1), lock(1)],
    subject: combined(false),
    warm: true,
    requestsMin: 1,
  },
  { name: 'a pop with a key', before: [push(4)], subject: keyed, requestsMin: 2 },
  {
    name: 'a pop with a key is repeated',
    before: [push(4), keyed],
    subject: keyed,
    requestsMin: 1,
  },
  {
    name: 'a pop crosses lanes',
    before: [pushToLanes([0, 2, 5], 2)],
    subject: lock(5),
    warm: true,
    requestsMin: 1,
  },
  {
    name: 'a pop reads sealed items',
    before: [...repeat(12, push(1, 300))],
    subject: lock(10),
    requestsMin: 3,
  },
  {
    name: 'a pop reads S3, chunks and the tail',
    before: [...deep, housekeep],
    subject: lock(12),
    requestsMin: 4,
  },
  {
    name: 'a pop reads a batch',
    before: [push(120, 12)],
    subject: lock(100),
    requestsMin: 2,
  },
  {
    name: 'a pop after claims that are done',
    before: [push(8), claim(), ...repeat(3, claim(), acknowledge)],
    subject: pop({ count: 2, competing: true }),
    requestsMin: 2,
  },
  {
    name: 'a pop makes items die',
    before: [configure({ maxDeliveries: 1 }), push(3), lock(2)],
    subject: lock(1),
    waitMs: 31_000,
    requestsMin: 2,
  },
]
