import { decodeItem } from '../core/entry.ts'
import { QueueError } from '../core/errors.ts'
import { itemId } from '../core/keys.ts'
import { choose } from '../core/pop.ts'
import { deliveriesOf, type Lane, type QueueRecord, type Stretch } from '../core/record.ts'
import type { PopOutcome, PoppedItem } from '../queues.ts'

/** Reads that found items missing at the version that says they are there. */
export const MISSING_MAX = 3

/** What became of one attempt to take items, under the fence or by a claim. */
export type Try =
  | { readonly kind: 'popped'; readonly outcome: PopOutcome }
  | { readonly kind: 'lost'; readonly record: QueueRecord | undefined }
  | { readonly kind: 'missing'; readonly record: QueueRecord | undefined }

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

/** Whether anything was left to take, by the record as the pop left it. */
export const isMoreWaiting = (record: QueueRecord | undefined, otherwise: boolean): boolean =>
  record === undefined ? otherwise : choose(record, 1, false).picks.length > 0

export const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }

export const unreadable = (queue: string): QueueError =>
  new QueueError(
    'SEGMENT_UNAVAILABLE',
    `Cannot read the next items of queue "${queue}" at the moment; nothing was passed over`,
  )
