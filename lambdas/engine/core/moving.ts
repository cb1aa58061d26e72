import { isDeadLetterQueue } from '../../foundation/queue-id.ts'
import type { Append } from './append.ts'
import { decodeItem, type Item, type ItemTimes } from './entry.ts'
import { expiryOf, isOver } from './expiry.ts'
import { lockWith, type NamedItem } from './named.ts'
import { deliveriesOf, type Lane, type QueueRecord } from './record.ts'

/**
 * The reason of items that a caller moved to a dead-letter queue. A redrive puts them into the queue that it serves.
 */
const MOVED_BY_HAND = 'moved'

/**
 * What a waiting item becomes in another place, from its entry. Among the dead letters it has a reason (its old one
 * if it was a dead letter already); in any other queue it has none, as after a redrive.
 */
export function movedItem(
  to: string,
  record: QueueRecord,
  named: NamedItem,
  entry: string,
  { nowMs, redriven }: { readonly nowMs: number; readonly redriven: ItemTimes },
): Item {
  const { priority, sequence } = named
  // An item that waits for its retry was delivered once more; its count rises when it comes back.
  const isCounted = lockWith(record, named) === undefined
  const deliveries =
    deliveriesOf(record.lanes.get(priority) as Lane, sequence) + (isCounted ? 0 : 1)
  return itemFor(to, decodeItem(entry), { atMs: nowMs, deliveries }, redriven)
}

/**
 * What a waiting item becomes once it is put off. An expired item stays expired, although the queue's own TTL begins
 * anew when an item is due. But an item that goes to the dead letters, or comes back from them, loses its expiry.
 */
export function itemPutOff(
  ...[to, record, named, entry, times]: Parameters<typeof movedItem>
): Item {
  const item = movedItem(to, record, named, entry, times)
  const isAnew = isDeadLetterQueue(to) !== isDeadLetterQueue(record.queue)
  if (isAnew || !isOver(entry, record, times.nowMs)) return item
  return { ...item, expiresAtMs: expiryOf(decodeItem(entry), record.configuration) }
}

/** What the item becomes in its new place. If that makes it a dead letter, it gets this `death`. */
export function itemFor(
  to: string,
  { moved, ...item }: Item,
  death: { readonly atMs: number; readonly deliveries: number },
  redriven: ItemTimes = {},
): Item {
  const { text, pushedAtMs } = item
  if (!isDeadLetterQueue(to)) return moved ? { text, pushedAtMs, ...redriven } : item
  if (moved) return { ...item, moved }
  return { text, pushedAtMs, moved: { reason: MOVED_BY_HAND, death } }
}

/** The record with these entries at the ends of its lanes; the update appends them to wherever the ends are by then. */
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
