import type { BrowseRequest, PopRequest } from '../../../../../lambdas/engine/queues.ts'
import { deadLetterQueueOf, isDeadLetterQueue } from '../../../../../lambdas/foundation/queue-id.ts'
import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'
import { drawMoveTime, drawPushItem } from './draw-push.ts'
import type { KnownLock } from './knowledge.ts'

const unknownLock = 'unknown0123'

/** What callers do with a lock; without one they pop. */
export function drawSettling(
  draw: Draw,
  queue: string,
  verb: 'acknowledge' | 'acknowledgeMany' | 'extend' | 'release' | 'deadLetter',
): Command {
  const { knowledge, random, profile } = draw
  if (random.chance(0.02)) return { verb: 'acknowledge', queue, request: { lockId: unknownLock } }
  const lock = knowledge.lock(random)
  if (lock === undefined) return drawPop(draw, queue, 'pop')
  const its = { queue: lock.queue }
  switch (verb) {
    case 'acknowledge':
      return { verb, ...its, request: drawPart(draw, lock, 0.2) }
    case 'release':
      return { verb, ...its, request: { ...drawPart(draw, lock, 0.4), ...drawDelay(draw) } }
    case 'deadLetter': {
      const part = drawPart(draw, lock, 0.4)
      return { verb, ...its, request: { ...part, ...(random.chance(0.5) && { reason: 'broken' }) } }
    }
    case 'extend': {
      const ttlSeconds = random.pick(profile.ttlSeconds)
      return { verb, ...its, request: { lockId: lock.lockId, ttlSeconds } }
    }
    case 'acknowledgeMany': {
      const others = [1, 2, 3].map(() => knowledge.lock(random, lock.queue)?.lockId)
      const lockIds = [lock.lockId, ...others, random.chance(0.1) ? unknownLock : undefined]
      return { verb, ...its, request: [...new Set(lockIds.filter((id) => id !== undefined))] }
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

/** In some worlds most pops wait, and some callers go away meanwhile. */
export function drawPop(draw: Draw, queue: string, drawn: DrawnPop): Command {
  if (draw.workedBy.has(queue)) {
    return { verb: 'push', queue, request: { items: [drawPushItem(draw)] } }
  }
  const command = drawPromptPop(draw, queue, drawn)
  const { profile, random } = draw
  if (profile.waiting === undefined || command.verb !== 'pop') return command
  // A repeat by key may wait where the first call did not.
  if (!random.chance(0.7)) return command
  const request = { ...command.request, waitSeconds: random.pick([1, 1, 2, 5, 20]) }
  const cancelled = random.chance(0.15) && { cancelAfterMs: random.pick([1, 200, 3_000]) }
  return { ...command, request, ...cancelled }
}

type DrawnPop = 'pop' | 'popWithoutAck' | 'idempotentPop'

function drawPromptPop(draw: Draw, queue: string, drawn: DrawnPop): Command {
  const { profile, knowledge, random } = draw
  const count = random.pick(profile.popCounts)
  const competing = random.chance(profile.competing)
  if (drawn === 'popWithoutAck') {
    return { verb: 'pop', queue, request: { count, ...combined(draw, queue), competing } }
  }
  if (drawn === 'idempotentPop') {
    const earlier = knowledge.keyedPops
    if (earlier.length > 0 && random.chance(0.5)) {
      return { verb: 'pop', ...random.pick(earlier.slice(-4)) }
    }
  }
  const request: PopRequest = {
    count,
    requireAck: true,
    ttlSeconds: random.pick(profile.ttlSeconds),
    competing,
    ...combined(draw, queue),
    ...(drawn === 'idempotentPop' && { idempotencyKey: knowledge.nextKey() }),
  }
  if (drawn === 'idempotentPop') knowledge.keyedPops.push({ queue, request })
  return { verb: 'pop', queue, request }
}

/** The lock to acknowledge in the same write, where the caller knows one. */
function combined({ profile, knowledge, random }: Draw, queue: string): PopRequest {
  if (!random.chance(profile.combined)) return {}
  const lock = knowledge.lock(random, queue)
  return lock === undefined ? {} : { acknowledge: lock.lockId }
}

/** What callers do with items whose ids they know; without one they pop. */
export function drawByIds(
  draw: Draw,
  queue: string,
  drawn: 'cancel' | 'move' | 'purgeByIds' | 'redriveByIds',
): Command {
  const { knowledge, random, profile } = draw
  const from =
    drawn === 'redriveByIds' && !isDeadLetterQueue(queue) ? deadLetterQueueOf(queue) : queue
  const ids = knowledge.someIds(random, from)
  if (ids.length === 0) {
    // Dead letters have ids that no push told.
    if (drawn === 'redriveByIds') return { verb: 'browse', queue: from, request: { limit: 20 } }
    return drawPop(draw, queue, 'pop')
  }
  switch (drawn) {
    case 'cancel':
      return { verb: 'cancel', queue, request: ids }
    case 'purgeByIds':
      return { verb: 'purge', queue, request: { ids } }
    case 'redriveByIds':
      return { verb: 'redrive', queue: from, request: { ids } }
    case 'move': {
      const other = random.pick(profile.queues).queue
      const priority = random.pick(profile.priorities)
      const isElsewhere = random.chance(0.4)
      const time = drawMoveTime(draw)
      const to = random.chance(0.2) && !isDeadLetterQueue(other) ? deadLetterQueueOf(other) : other
      const where = {
        ...(isElsewhere && { queue: to }),
        ...((!isElsewhere || random.chance(0.5)) && { priority }),
      }
      return { verb: 'move', queue, request: { ids, ...where, ...time } }
    }
    default:
      return drawn satisfies never
  }
}

export function drawBrowse({ knowledge, random }: Draw, queue: string): BrowseRequest {
  const [from] = random.chance(0.2) ? knowledge.someIds(random, queue) : []
  return {
    limit: random.pick([1, 5, 20, 100]),
    ...(random.chance(0.3) && { order: 'newest' as const }),
    ...(from !== undefined && { from }),
  }
}
