import { QueueError } from '../../foundation/errors.ts'
import { decodeItem } from '../core/entry.ts'
import { itemId } from '../core/keys.ts'
import { hasFree } from '../core/marks.ts'
import { deliveriesOf, type Lane, type QueueRecord, type Stretch } from '../core/record.ts'
import type { PopOutcome, PoppedItem } from '../verbs.ts'
import { type Engine, readRecord } from './engine.ts'

const MISSING_MAX = 3
/** Reads in all, while housekeeping moves what is read from one place to another. */
export const READS_MAX = 24

/**
 * Reads that found items missing at the very version that says they are there. Where the version has
 * moved, housekeeping has moved them, as it may at each segment of a long read: that counts for nothing.
 */
export class MissingItems {
  #found = 0

  /** The record as it is now, to go on with. */
  async lookAgain(
    engine: Engine,
    queue: string,
    record: QueueRecord | undefined,
  ): Promise<QueueRecord | undefined> {
    const current = await readRecord(engine, queue)
    if (current?.born === record?.born && current?.version === record?.version) this.#found += 1
    if (this.#found === MISSING_MAX) throw unreadable(queue)
    return current
  }
}

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
  record === undefined ? otherwise : hasFree(record)

export const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }

export const unreadable = (queue: string): QueueError =>
  new QueueError(
    'SEGMENT_UNAVAILABLE',
    `Cannot read the next items of queue "${queue}" at the moment; nothing was passed over`,
  )
