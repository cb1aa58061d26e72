import type { BrowseRequest } from '../../../../../lambdas/engine/queues.ts'
import { deadLetterQueueOf, isDeadLetterQueue } from '../../../../../lambdas/foundation/queue-id.ts'
import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'
import { drawMoveTime } from './draw-later.ts'
import { drawPop } from './draw-pop.ts'

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
      return {
        verb: 'move',
        queue,
        request: {
          ids,
          ...(isElsewhere && { queue: to }),
          ...((!isElsewhere || random.chance(0.5)) && { priority }),
          ...time,
        },
      }
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
