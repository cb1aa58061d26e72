import { deadLetterQueueOf } from '../../../shared/bounds.ts'
import type { Command } from '../world/actors/callers/command.ts'
import { queue, type Step } from './scenario.ts'
import {
  acknowledge,
  claim,
  configure,
  housekeep,
  lock,
  ofLock,
  ofPart,
  pop,
  push,
  pushToLanes,
  sweep,
} from './steps.ts'

const ring: readonly Step[] = [
  push(),
  push(3, 500),
  claim(),
  acknowledge,
  pop(),
  claim(2),
  ofLock('extend', { ttlSeconds: 20 }),
  ofLock('release'),
  pushToLanes([0, 1, 4]),
  lock(1),
  claim(3),
  ofPart('acknowledge', 0, 1),
  ofLock('deadLetter'),
  () => ({ verb: 'redrive', queue: deadLetterQueueOf(queue), request: { limit: 1 } }),
  sweep,
  housekeep,
  (state) => {
    const text = state.text()
    return { verb: 'pushTransactItem', queue, item: { text }, businessRow: `business#${text}` }
  },
  configure({ bufferSegments: 2 }),
  claim(),
  (state) => ({ verb: 'acknowledgeMany', queue, request: [state.lock.lockId] }),
  () => ({ verb: 'inspect', queue, request: { consistent: true } }),
  () => ({ verb: 'browse', queue, request: {} }),
  () => ({ verb: 'list', queue: '' }),
  push(1, 600),
]

/** What follows a crash: the same call again, then all others, each time from another start. */
export function followers(rotation: number, subject: Command): Step[] {
  const steps = ring.map((_, index) => ring[(index + rotation) % ring.length] as Step)
  const again: Step[] = repeatable(subject) ? [() => subject] : []
  // Purged items are not missed by anyone: only some of the runs may end this way.
  const purge: Step[] =
    rotation % 7 === 6 ? [() => ({ verb: 'purge', queue, request: {} }), push()] : []
  return [...again, ...steps, ...purge]
}

/** A push without a key would be another push of the same items. */
function repeatable(command: Command): boolean {
  if (command.verb === 'push') return command.request.idempotencyKey !== undefined
  return command.verb !== 'pushTransactItem' && command.verb !== 'transact'
}
