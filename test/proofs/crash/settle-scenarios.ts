import { queue, type Scenario, type State, type Step } from './scenario.ts'
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
  { name: 'an acknowledge', before: locked, subject: acknowledge, requestsMin: 1 },
  {
    name: 'an acknowledge that folds',
    before: [push(40), claim(), ...repeat(15, claim(), acknowledge), claim()],
    subject: acknowledge,
    requestsMin: 2,
  },
  {
    name: 'an acknowledge is repeated',
    before: [...locked, acknowledge],
    subject: acknowledge,
    requestsMin: 1,
  },
  {
    name: 'an acknowledge comes too late',
    before: locked,
    subject: acknowledge,
    waitMs: 31_000,
    requestsMin: 1,
  },
  { name: 'an acknowledge of a part', before: locked, subject: acknowledgePart, requestsMin: 2 },
  {
    name: 'an acknowledge of a part, twice',
    before: [...locked, acknowledgePart],
    subject: acknowledgePart,
    requestsMin: 1,
  },
  {
    name: 'an acknowledge of many locks',
    before: [push(8), claim(), claim(), claim()],
    subject: (state) => ({
      verb: 'acknowledgeMany',
      queue,
      lockIds: [state.lock.lockId, 'unknown0123'],
    }),
    requestsMin: 2,
  },
  { name: 'an extension', before: locked, subject: extend, requestsMin: 2 },
  {
    name: 'an extension by less',
    before: locked,
    subject: (state) => ({
      verb: 'extend',
      queue,
      request: { lockId: state.lock.lockId, ttlSeconds: 2 },
    }),
    warm: true,
    requestsMin: 1,
  },
  { name: 'a release', before: locked, subject: release, requestsMin: 2 },
  { name: 'a release of a part', before: locked, subject: releasePart, requestsMin: 2 },
  {
    name: 'a release that makes items die',
    before: [configure({ maxDeliveries: 1 }), ...locked],
    subject: release,
    requestsMin: 2,
  },
  { name: 'a dead-letter', before: locked, subject: deadLetter, requestsMin: 4 },
  { name: 'a dead-letter of a part', before: locked, subject: deadLetterPart, requestsMin: 4 },
  {
    name: 'a dead-letter of items in segments',
    before: [smallSegments, ...repeat(10, push(1, 300)), lock(8)],
    subject: deadLetter,
    requestsMin: 5,
  },
  {
    name: 'a dead-letter to a queue that is there',
    before: [...locked, deadLetter, lock(2)],
    subject: deadLetter,
    requestsMin: 4,
  },
]
