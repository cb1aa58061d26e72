import { present } from '../../../foundation/shared/present.ts'
import { deadLetterOf, decodeItem, scheduledOf } from '../../core/entry.ts'
import { expiryOf } from '../../core/expiry.ts'
import { itemId } from '../../core/keys.ts'
import { deliveriesOf, type Lane, type QueueRecord, type Stretch } from '../../core/record.ts'
import type { PopOutcome, PoppedItem } from '../../verbs.ts'

export function itemsOf(
  record: QueueRecord,
  stretches: readonly Stretch[],
  entries: readonly string[],
): PoppedItem[] {
  const items: PoppedItem[] = []
  for (const { priority, from, to } of stretches) {
    const lane = record.lanes.get(priority) as Lane
    for (let sequence = from; sequence < to; sequence += 1) {
      const item = decodeItem(entries[items.length] as string)
      items.push({
        text: item.text,
        id: itemId({ epoch: lane.epoch, priority, sequence }),
        priority,
        pushedAtMs: item.pushedAtMs,
        deliveries: deliveriesOf(lane, sequence) + 1,
        ...scheduledOf(item),
        ...deadLetterOf(item),
        ...present({ expiresAtMs: expiryOf(item, record.configuration) }),
      })
    }
  }
  return items
}

export const lockOf = (
  { id, ttlMs }: { readonly id: string; readonly ttlMs: number },
  expiresAtMs: number,
) => ({ id, expiresAtMs, ttlSeconds: ttlMs / 1000 })

/**
 * An earlier write of the call has settled the lock that it named. A refusal, or "locked", would say that the call
 * changed nothing. So it answers that it has come to no end, and what it acknowledged, which only this call knows; the
 * next pop gets the reason.
 */
export const turnedAway = (itemsAcknowledged: number): PopOutcome => ({
  kind: 'empty',
  more: true,
  itemsAcknowledged,
})

export const afterAcknowledging = (outcome: PopOutcome, itemsAcknowledged: number): PopOutcome =>
  outcome.kind === 'locked' ? turnedAway(itemsAcknowledged) : { ...outcome, itemsAcknowledged }

export const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }
