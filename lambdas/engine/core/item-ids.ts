import type { Placed } from './append.ts'
import { itemId } from './keys.ts'
import type { PushItem } from './push-request.ts'

/**
 * The items' ids in the order of the request, from where each lane's items were placed; `scheduled` holds the ids of
 * scheduled items.
 */
export function idsOf(
  items: readonly PushItem[],
  placed: Placed,
  scheduled: ReadonlyMap<number, string> = new Map(),
): string[] {
  const used = new Map<number, number>()
  return items.map(({ priority = 0 }, index) => {
    const scheduledId = scheduled.get(index)
    if (scheduledId !== undefined) return scheduledId
    const place = placed.get(priority)
    if (place === undefined) throw new Error('A push was placed in none of its lanes')
    const before = used.get(priority) ?? 0
    used.set(priority, before + 1)
    return itemId({ epoch: place.epoch, priority, sequence: place.start + before })
  })
}
