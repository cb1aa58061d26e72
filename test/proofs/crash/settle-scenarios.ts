import { cold, queue, type Scenario, warm } from './scenario.ts'
import {
  acknowledge,
  claim,
  configure,
  deadLetter,
  lock,
  ofLock,
  ofPart,
  push,
  repeat,
  smallSegments,
} from './steps.ts'

const acknowledgePart = ofPart('acknowledge', 1, 3)
const release = ofLock('release')
const locked = [push(6), lock(4)]

export const settleScenarios: readonly Scenario[] = [
  cold('an acknowledge', locked, acknowledge, 1),
  cold(
    'an acknowledge that folds',
    [push(40), claim(), ...repeat(15, claim(), acknowledge), claim()],
    acknowledge,
    2,
  ),
  cold('an acknowledge is repeated', [...locked, acknowledge], acknowledge, 1),
  cold('an acknowledge comes too late', locked, acknowledge, 1, 31_000),
  cold('an acknowledge of a part', locked, acknowledgePart, 2),
  cold('an acknowledge of a part, twice', [...locked, acknowledgePart], acknowledgePart, 1),
  cold(
    'an acknowledge of many locks',
    [push(8), claim(), claim(), claim()],
    (state) => ({
      verb: 'acknowledgeMany',
      queue,
      request: [state.lock.lockId, 'unknown0123'],
    }),
    2,
  ),
  cold('an extension', locked, ofLock('extend', { ttlSeconds: 60 }), 2),
  warm('an extension by less', locked, ofLock('extend', { ttlSeconds: 2 }), 1),
  cold('a release', locked, release, 2),
  cold('a release of a part', locked, ofPart('release', 1, 3), 2),
  cold('a release that makes items die', [configure({ maxDeliveries: 1 }), ...locked], release, 2),
  cold('a dead-letter', locked, deadLetter, 4),
  cold('a dead-letter of a part', locked, ofPart('deadLetter', 1, 3), 4),
  cold(
    'a dead-letter of items in segments',
    [smallSegments, ...repeat(10, push(1, 300)), lock(8)],
    deadLetter,
    5,
  ),
  cold('a dead-letter to a queue that is there', [...locked, deadLetter, lock(2)], deadLetter, 4),
]
