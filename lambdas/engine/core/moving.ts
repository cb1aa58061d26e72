import { isDeadLetterQueue } from '../../foundation/queue-id.ts'
import type { Append } from './append.ts'
import { decodeItem, type Item, type ItemTimes } from './entry.ts'
import { lockWith, type NamedItem } from './named.ts'
import { deliveriesOf, type Lane, type QueueRecord } from './record.ts'

/**
 * The reason of items that a caller moved to a dead-letter queue: a redrive puts them into the queue it belongs to.
 */
const MOVED_BY_HAND = 'moved'

/**
 * What a waiting item is in another place, by its entry. Among the dead letters it has a reason, its own if it came
 * from there; in any other queue it has none, as after a redrive.
 */
export function movedItem(
  to: string,
  record: QueueRecord,
  named: NamedItem,
  entry: string,
  { nowMs, redriven }: { readonly nowMs: number; readonly redriven: ItemTimes },
): Item {
  const { priority, sequence } = named
  // One that waits for its retry was delivered once more, which counts when it is back.
  const isCounted = lockWith(record, named) === undefined
  const deliveries =
    deliveriesOf(record.lanes.get(priority) as Lane, sequence) + (isCounted ? 0 : 1)
  return itemFor(to, decodeItem(entry), { atMs: nowMs, deliveries }, redriven)
}

/** What the item is in its new place; `death` is what it gets if this makes it a dead letter. */
export function itemFor(
  to: string,
  { moved, ...item }: Item,
  death: { readonly atMs: number; readonly deliveries: number },
  redriven: ItemTimes = {},
): Item {
  if (!isDeadLetterQueue(to)) return { ...item, ...(moved && redriven) }
  return { ...item, moved: moved ?? { reason: MOVED_BY_HAND, death } }
}

/** The record with these entries at the ends of lanes that it has; the update appends them where the ends are then. */
export function withAppended(record: QueueRecord, append: Append): QueueRecord {
  const lanes = new Map(record.lanes)
  for (const [priority, entries] of append.lanes) {
    const lane = lanes.get(priority) as Lane
    lanes.set(priority, { ...lane, tail: [...lane.tail, ...entries] })
  }
  return {
    ...record,
    lanes,
    timed: record.timed || append.timed === true,
    tailBytes: record.tailBytes + append.bytes,
    appends: record.appends + 1,
    room: record.room - append.items,
  }
}
