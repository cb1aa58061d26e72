import { deadLetterQueueOf } from '../../../lambdas/foundation/queue-id.ts'
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
  sweep,
} from './steps.ts'

const purge: Step = () => ({ verb: 'purge', queue, request: {} })
const purgeOne: Step = () => ({ verb: 'purge', queue, request: { priority: 2 } })
const deadLetter: Step = (state) => ({
  verb: 'deadLetter',
  queue,
  request: { lockId: state.lock.lockId, reason: 'broken' },
})
const redrive: Step = () => ({
  verb: 'redrive',
  queue: deadLetterQueueOf(queue),
  request: {},
})

/** Sealed and in S3: segments of two, a buffer of one. */
const offloaded = [smallSegments, ...repeat(14, push(1, 300)), housekeep]

export const upkeepScenarios: readonly Scenario[] = [
  { name: 'configure makes the record', before: [], subject: smallSegments, requestsMin: 2 },
  {
    name: 'configure changes the record',
    before: [push()],
    subject: configure({ capacity: 5, maxDeliveries: 2 }),
    requestsMin: 2,
  },
  { name: 'a purge', before: [push(5), pushToLanes([2, 3])], subject: purge, requestsMin: 2 },
  { name: 'a purge of one lane', before: [pushToLanes([0, 2])], subject: purgeOne, requestsMin: 2 },
  { name: 'a purge ends locks', before: [push(5), lock(3)], subject: purge, requestsMin: 2 },
  { name: 'a purge of a deep queue', before: offloaded, subject: purge, requestsMin: 2 },
  { name: 'a redrive', before: [push(5), lock(3), deadLetter], subject: redrive, requestsMin: 4 },
  {
    name: 'a redrive to a queue that was forgotten',
    before: [push(3), lock(3), deadLetter],
    subject: redrive,
    requestsMin: 4,
  },
  {
    name: 'housekeeping offloads',
    before: offloaded.slice(0, -1),
    subject: housekeep,
    requestsMin: 4,
  },
  {
    name: 'housekeeping recalls and trims',
    before: [...offloaded, pop({ count: 7 })],
    subject: housekeep,
    requestsMin: 4,
  },
  {
    name: 'housekeeping trims what was offloaded',
    before: [...offloaded, pop({ count: 14 })],
    subject: housekeep,
    requestsMin: 3,
  },
  {
    name: 'housekeeping deletes a popped batch',
    before: [push(120, 12), pop({ count: 100 }), pop({ count: 100 })],
    subject: housekeep,
    requestsMin: 3,
  },
  {
    name: 'housekeeping moves the dead',
    before: [configure({ maxDeliveries: 1 }), push(4), lock(3)],
    subject: sweep,
    waitMs: 40_000,
    requestsMin: 18,
  },
  {
    name: 'housekeeping finds nothing to do',
    before: [push()],
    subject: housekeep,
    requestsMin: 1,
  },
  {
    name: 'the sweeper returns expired locks',
    before: [push(8), claim(2), claim(2)],
    subject: sweep,
    waitMs: 40_000,
    requestsMin: 18,
  },
  {
    name: 'the sweeper folds',
    before: [push(8), claim(), claim(), acknowledge],
    subject: sweep,
    waitMs: 40_000,
    requestsMin: 18,
  },
  {
    name: 'the sweeper forgets a queue',
    before: [push(2), pop({ count: 2 })],
    subject: sweep,
    waitMs: 11 * 60_000,
    requestsMin: 18,
  },
  {
    name: 'the sweeper forgets a queue that had segments',
    before: [...repeat(14, push(1, 300)), pop({ count: 100 })],
    subject: sweep,
    waitMs: 11 * 60_000,
    requestsMin: 18,
  },
]
