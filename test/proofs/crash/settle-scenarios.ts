import { cold, queue, type Scenario, type State, type Step, warm } from './scenario.ts'
import { acknowledge, claim, configure, lock, push, repeat, smallSegments } from './steps.ts'

const part = (state: State) => ({ lockId: state.lock.lockId, ids: state.lock.ids.slice(1, 3) })

const acknowledgePart: Step = (state) => ({ verb: 'acknowledge', queue, request: part(state) })
const release: Step = (state) => ({
  verb: 'release',
  queue,
  request: { lockId: state.lock.lockId },
})
const releasePart: Step = (state) => ({ verb: 'release', queue, request: part(state) })
const deadLetter: Step = (state) => ({
  verb: 'deadLetter',
  queue,
  request: { lockId: state.lock.lockId, reason: 'broken' },
})
const deadLetterPart: Step = (state) => ({
  verb: 'deadLetter',
  queue,
  request: { ...part(state), reason: 'broken' },
})
const extend: Step = (state) => ({
  verb: 'extend',
  queue,
  request: { lockId: state.lock.lockId, ttlSeconds: 60 },
})

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
      lockIds: [state.lock.lockId, 'unknown0123'],
    }),
    2,
  ),
  cold('an extension', locked, extend, 2),
  warm(
    'an extension by less',
    locked,
    (state) => ({
      verb: 'extend',
      queue,
      request: { lockId: state.lock.lockId, ttlSeconds: 2 },
    }),
    1,
  ),
  cold('a release', locked, release, 2),
  cold('a release of a part', locked, releasePart, 2),
  cold('a release that makes items die', [configure({ maxDeliveries: 1 }), ...locked], release, 2),
  cold('a dead-letter', locked, deadLetter, 4),
  cold('a dead-letter of a part', locked, deadLetterPart, 4),
  cold(
    'a dead-letter of items in segments',
    [smallSegments, ...repeat(10, push(1, 300)), lock(8)],
    deadLetter,
    5,
  ),
  cold('a dead-letter to a queue that is there', [...locked, deadLetter, lock(2)], deadLetter, 4),
]
