import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'
import { drawPop } from './draw-pop.ts'
import type { KnownLock } from './knowledge.ts'

const unknownLock = 'unknown0123'

/** What callers do with a lock; without one they pop. */
export function drawSettling(
  draw: Draw,
  queue: string,
  verb: 'acknowledge' | 'acknowledgeMany' | 'extend' | 'release' | 'deadLetter',
): Command {
  const { knowledge, random, profile } = draw
  if (random.chance(0.02)) {
    return { verb: 'acknowledge', queue, request: { lockId: unknownLock } }
  }
  const lock = knowledge.lock(random)
  if (lock === undefined) return drawPop(draw, queue, 'pop')
  switch (verb) {
    case 'acknowledge':
      return { verb, queue: lock.queue, request: drawPart(draw, lock, 0.2) }
    case 'release':
      return {
        verb,
        queue: lock.queue,
        request: { ...drawPart(draw, lock, 0.4), ...drawDelay(draw) },
      }
    case 'deadLetter':
      return {
        verb,
        queue: lock.queue,
        request: { ...drawPart(draw, lock, 0.4), ...(random.chance(0.5) && { reason: 'broken' }) },
      }
    case 'extend':
      return {
        verb,
        queue: lock.queue,
        request: { lockId: lock.lockId, ttlSeconds: random.pick(profile.ttlSeconds) },
      }
    case 'acknowledgeMany': {
      const others = [1, 2, 3].map(() => knowledge.lock(random, lock.queue)?.lockId)
      const lockIds = [lock.lockId, ...others, random.chance(0.1) ? unknownLock : undefined]
      const request = [...new Set(lockIds.filter((id) => id !== undefined))]
      return { verb, queue: lock.queue, request }
    }
    default:
      return verb satisfies never
  }
}

/** In the drain all of these are over. */
const delays = [0, 1, 1, 5, 40, 300]

function drawDelay({ random }: Draw) {
  if (random.chance(0.5)) return {}
  return { delaySeconds: random.pick(delays), overtake: random.chance(0.5) }
}

function drawPart({ random }: Draw, lock: KnownLock, odds: number) {
  if (!random.chance(odds) || lock.ids.length === 0) return { lockId: lock.lockId }
  const ids = lock.ids.filter(() => random.chance(0.5))
  return { lockId: lock.lockId, ids: ids.length === 0 ? lock.ids.slice(0, 1) : ids }
}
