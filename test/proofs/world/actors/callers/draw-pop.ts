import type { PopRequest } from '../../../../../lambdas/engine/queues.ts'
import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'
import { drawPushItem } from './draw-push.ts'

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
