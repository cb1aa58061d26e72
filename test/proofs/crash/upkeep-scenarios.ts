import { deadLetterQueueOf } from '../../../shared/bounds.ts'
import { cold, queue, type Scenario, type Step } from './scenario.ts'
import {
  acknowledge,
  claim,
  configure,
  deadLetter,
  housekeep,
  lock,
  pop,
  push,
  pushToLanes,
  pushWithKey,
  repeat,
  smallSegments,
  sweep,
} from './steps.ts'

const purge: Step = () => ({ verb: 'purge', queue, request: {} })
const purgeOne: Step = () => ({ verb: 'purge', queue, request: { priority: 2 } })
const redrive: Step = () => ({
  verb: 'redrive',
  queue: deadLetterQueueOf(queue),
  request: {},
})

/** Sealed and in S3: segments of two, a buffer of one. */
const offloaded = [smallSegments, ...repeat(14, push(1, 300)), housekeep]

export const upkeepScenarios: readonly Scenario[] = [
  cold('configure makes the record', [], smallSegments, 2),
  cold('configure changes the record', [push()], configure({ capacity: 5, maxDeliveries: 2 }), 2),
  cold('a purge', [push(5), pushToLanes([2, 3])], purge, 2),
  cold('a purge of one lane', [pushToLanes([0, 2])], purgeOne, 2),
  cold('a purge ends locks', [push(5), lock(3)], purge, 2),
  cold('a purge of a deep queue', offloaded, purge, 2),
  cold('a redrive', [push(5), lock(3), deadLetter], redrive, 4),
  cold('a redrive to a queue that was forgotten', [push(3), lock(3), deadLetter], redrive, 4),
  cold('housekeeping offloads', offloaded.slice(0, -1), housekeep, 4),
  cold('housekeeping recalls and trims', [...offloaded, pop({ count: 7 })], housekeep, 4),
  cold('housekeeping trims what was offloaded', [...offloaded, pop({ count: 14 })], housekeep, 3),
  cold(
    'housekeeping deletes a popped batch',
    [push(120, 12), pop({ count: 100 }), pop({ count: 100 })],
    housekeep,
    3,
  ),
  cold(
    'housekeeping moves the dead',
    [configure({ maxDeliveries: 1 }), push(4), lock(3)],
    sweep,
    18,
    40_000,
  ),
  cold('housekeeping finds nothing to do', [push()], housekeep, 1),
  cold('the sweeper returns expired locks', [push(8), claim(2), claim(2)], sweep, 18, 40_000),
  cold('the sweeper folds', [push(8), claim(), claim(), acknowledge], sweep, 18, 40_000),
  cold(
    'the sweeper forgets a queue whose pushes had keys',
    [pushWithKey('a', '"a"'), pushWithKey('b', '"b"'), pop({ count: 2 })],
    sweep,
    20,
    11 * 60_000,
  ),
  cold('the sweeper forgets a queue', [push(2), pop({ count: 2 })], sweep, 18, 11 * 60_000),
  cold(
    'the sweeper forgets a queue that had segments',
    [...repeat(14, push(1, 300)), pop({ count: 100 })],
    sweep,
    18,
    11 * 60_000,
  ),
]
