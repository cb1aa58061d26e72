import type { PushItem } from '../../../../../lambdas/engine/queues.ts'
import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'
import { forOneTime, withTime } from './draw-later.ts'

export function drawPushItem(draw: Draw): PushItem {
  const { profile, knowledge, random } = draw
  const priority = random.pick(profile.priorities)
  const text = knowledge.nextText(random.pick(profile.itemBytes))
  const item = priority === 0 && random.chance(0.5) ? { text } : { text, priority }
  const { expiring } = profile
  const isExpiring = expiring !== undefined && random.chance(expiring.odds)
  const expiresInSeconds = isExpiring ? random.pick(expiring.seconds) : undefined
  return withTime(draw, expiresInSeconds === undefined ? item : { ...item, expiresInSeconds })
}

export function drawBulk(draw: Draw): PushItem[] {
  const { bulkItems, itemsMax } = draw.profile
  const [min, max] = draw.knowledge.texts < itemsMax ? bulkItems : [2, 4]
  const count = draw.random.between(min, max)
  const onePriority = draw.random.chance(0.6)
    ? draw.random.pick(draw.profile.priorities)
    : undefined
  const bulk: PushItem[] = []
  for (let i = 0; i < count; i += 1) {
    const item = drawPushItem(draw)
    bulk.push(onePriority === undefined ? item : { ...item, priority: onePriority })
  }
  return forOneTime(draw, bulk)
}

export function drawKeyedPush(draw: Draw, queue: string): Command {
  const { knowledge, random } = draw
  const earlier = knowledge.keyedPushes
  if (earlier.length > 0 && random.chance(0.5)) {
    const { queue: earlierQueue, request } = random.pick(earlier.slice(-6))
    if (random.chance(0.9)) return { verb: 'push', queue: earlierQueue, request }
    // The same key with another body: refused, unless the first one never came to be.
    const { idempotencyKey } = request
    if (idempotencyKey !== undefined) {
      const items = [drawPushItem(draw)]
      return { verb: 'push', queue: earlierQueue, request: { items, idempotencyKey } }
    }
  }
  const items = random.chance(0.7) ? [drawPushItem(draw)] : drawBulk(draw)
  const request = { items, idempotencyKey: knowledge.nextPushKey() }
  earlier.push({ queue, request })
  return { verb: 'push', queue, request }
}
