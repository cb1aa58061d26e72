import type { PushItem } from '../../../../../lambdas/engine/queues.ts'
import type { Command } from './command.ts'
import type { Draw } from './draw-command.ts'

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

/** In some worlds many items are pushed for later, a few of them for a time that has just passed. */
export function withTime(draw: Draw, item: PushItem): PushItem {
  const { profile, random } = draw
  const { later } = profile
  if (later === undefined || !random.chance(later.odds)) return item
  const seconds = drawSeconds(draw)
  const { expiresInSeconds } = item
  const lasting =
    expiresInSeconds === undefined || random.chance(0.02)
      ? item
      : { ...item, expiresInSeconds: expiresInSeconds + Math.max(0, Math.ceil(seconds)) + 2 }
  if (random.chance(0.5)) return { ...lasting, delaySeconds: Math.max(0, seconds) }
  return { ...lasting, deliverAtMs: atMs(draw, seconds) }
}

/** Half of the bulk pushes for later are for one time: these lie in batches, if they are large. */
export function forOneTime({ profile, random }: Draw, bulk: PushItem[]): PushItem[] {
  if (profile.later === undefined || random.chance(0.5)) return bulk
  const { delaySeconds, deliverAtMs } = bulk[0] as PushItem
  const time = deliverAtMs === undefined ? { delaySeconds } : { deliverAtMs }
  return bulk.map((item) => {
    const { delaySeconds: _, deliverAtMs: __, expiresInSeconds: ___, ...untimed } = item
    return { ...untimed, ...time }
  })
}

/** Often a whole number, so that many are due together. */
function drawSeconds({ profile: { later }, random }: Draw): number {
  const seconds = random.between(0, later?.seconds ?? 0)
  return random.chance(0.7) ? seconds : seconds - random.next()
}

const atMs = ({ nowMs }: Draw, seconds: number): number => Math.floor(nowMs + 1_000 * seconds)

/** To snooze an item, or to call it back. */
export function drawMoveTime(draw: Draw): { readonly deliverAtMs?: number } {
  const { profile, random } = draw
  if (profile.later === undefined || random.chance(0.4)) return {}
  return { deliverAtMs: atMs(draw, drawSeconds(draw)) }
}

/** A page of what is scheduled, or the one that follows an earlier one. */
export function drawListing(draw: Draw, queue: string): Command {
  const { knowledge, random } = draw
  const page = random.chance(0.5) ? knowledge.pages.pop() : undefined
  if (page !== undefined) return { verb: 'scheduled', ...page }
  const request = {
    limit: random.pick([1, 3, 20, 100]),
    ...(random.chance(0.2) && { fromMs: atMs(draw, drawSeconds(draw)) }),
    ...(random.chance(0.2) && { toMs: atMs(draw, drawSeconds(draw)) }),
  }
  return { verb: 'scheduled', queue, request }
}
