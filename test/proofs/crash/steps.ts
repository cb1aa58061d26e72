import type { ConfigurationChange } from '../../../engine/core/settings.ts'
import type { PopRequest } from '../../../engine/queues.ts'
import type { Command } from '../world/actors/callers/command.ts'
import { queue, type Step } from './scenario.ts'

/** Steps that scenarios are made of. */

export const push =
  (count = 1, bytes = 0, priority = 0): Step =>
  (state) => ({ verb: 'push', queue, request: { items: state.texts(count, bytes, priority) } })

/** One call over several lanes. */
export const pushToLanes =
  (priorities: readonly number[], each = 1, bytes = 0): Step =>
  (state) => ({
    verb: 'push',
    queue,
    request: { items: priorities.flatMap((priority) => state.texts(each, bytes, priority)) },
  })

export const pushWithKey =
  (idempotencyKey: string, text: string): Step =>
  () => ({ verb: 'push', queue, request: { items: [{ text }], idempotencyKey } })

export const pop =
  (request: PopRequest = {}): Step =>
  () => ({ verb: 'pop', queue, request })

export const lock = (count = 1, request: PopRequest = {}): Step =>
  pop({ count, requireAck: true, ttlSeconds: 30, ...request })

export const claim = (count = 1): Step => lock(count, { competing: true })

/** About the lock of the last pop. */
export const ofLock =
  (verb: 'acknowledge' | 'release' | 'deadLetter' | 'extend', more: object = {}): Step =>
  (state) =>
    ({ verb, queue, request: { lockId: state.lock.lockId, ...more } }) as Command

/** About some of its items. */
export const ofPart =
  (verb: 'acknowledge' | 'release' | 'deadLetter', from: number, to: number): Step =>
  ({ lock: { lockId, ids } }) => ({ verb, queue, request: { lockId, ids: ids.slice(from, to) } })

export const acknowledge = ofLock('acknowledge')

export const deadLetter = ofLock('deadLetter', { reason: 'broken' })

export const configure =
  (request: ConfigurationChange): Step =>
  () => ({ verb: 'configure', queue, request })

export const housekeep: Step = () => ({ verb: 'housekeep', queue })

export const sweep: Step = () => ({ verb: 'returnExpiredLocks', queue: '' })

export const repeat = (times: number, ...steps: readonly Step[]): Step[] =>
  Array.from({ length: times }, () => steps).flat()

/** Segments of two items, so that a few pushes fill several. */
export const smallSegments = configure({ segmentSize: 2, bufferSegments: 1 })
