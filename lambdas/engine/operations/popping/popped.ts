import { decodeItem } from '../../core/entry.ts'
import { itemId } from '../../core/keys.ts'
import { deliveriesOf, type Lane, type QueueRecord, type Stretch } from '../../core/record.ts'
import type { PoppedItem } from '../../verbs.ts'

export function itemsOf(
  record: QueueRecord,
  stretches: readonly Stretch[],
  entries: readonly string[],
): PoppedItem[] {
  const items: PoppedItem[] = []
  for (const { priority, from, to } of stretches) {
    const lane = record.lanes.get(priority) as Lane
    for (let sequence = from; sequence < to; sequence += 1) {
      const { text, pushedAtMs, moved } = decodeItem(entries[items.length] as string)
      items.push({
        text,
        id: itemId({ epoch: lane.epoch, priority, sequence }),
        priority,
        pushedAtMs,
        deliveries: deliveriesOf(lane, sequence) + 1,
        ...(moved !== undefined && { reason: moved.reason }),
      })
    }
  }
  return items
}

export const lockOf = (
  { id, ttlMs }: { readonly id: string; readonly ttlMs: number },
  expiresAtMs: number,
) => ({ id, expiresAtMs, ttlSeconds: ttlMs / 1000 })

export const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }
