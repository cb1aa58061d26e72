import type { ConfigurationChange } from '../../../lambdas/engine/core/configuration.ts'
import type { PopRequest } from '../../../lambdas/engine/queues.ts'
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

export const acknowledge: Step = (state) => ({
  verb: 'acknowledge',
  queue,
  request: { lockId: state.lock.lockId },
})

export const configure =
  (change: ConfigurationChange): Step =>
  () => ({ verb: 'configure', queue, change })

export const housekeep: Step = () => ({ verb: 'housekeep', queue })

export const sweep: Step = () => ({ verb: 'returnExpiredLocks', queue: '' })

export const repeat = (times: number, ...steps: readonly Step[]): Step[] =>
  Array.from({ length: times }, () => steps).flat()

/** Segments of two items, so that a few pushes fill several. */
export const smallSegments = configure({ segmentSize: 2, bufferSegments: 1 })
