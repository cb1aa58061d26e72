// What an item becomes when a caller moves it: in another queue, among the dead letters or back from there, at another
// time; and the scheduled entries without those that a caller takes out. The places of scheduled entries are good only
// for the record and the rows that we have read: the write passes only if both are as seen.

import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { expiryOf, hasExpired } from './expiry.ts'
import {
  type Death,
  decodeItem,
  type Item,
  type ItemTimes,
  isReference,
  lastingOf,
} from './item.ts'
import {
  decodeScheduled,
  type EntryRow,
  encodeScheduled,
  indexesLeft,
  type ScheduledEntry,
  type ScheduledId,
  scheduledBytes,
} from './later.ts'
import { lockWith, type NamedItem } from './named-items.ts'
import { deliveriesOf, type Lane, type QueueRecord, type Scheduled } from './record.ts'

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
  return itemFor(to, decodeItem(entry), { nowMs, deliveries }, redriven)
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
  if (isAnew || !hasExpired(entry, record, times.nowMs)) return item
  return { ...item, expiresAtMs: expiryOf(decodeItem(entry), record.configuration) }
}

/** What the item becomes in its new place. If that makes it a dead letter, it dies now, after so many deliveries. */
export function itemFor(
  to: string,
  item: Item,
  { nowMs, deliveries }: { readonly nowMs: number; readonly deliveries: number },
  redriven: ItemTimes = {},
): Item {
  const wasDead = item.reason !== undefined
  if (wasDead === isDeadLetterQueue(to)) return item
  if (wasDead) return { ...lastingOf(item), ...redriven }
  const death: Death = {
    reason: MOVED_BY_HAND,
    deadLetteredAtMs: nowMs,
    priorDeliveries: deliveries,
  }
  return { ...lastingOf(item), ...death }
}

// Scheduled items that a caller takes out, and what is left of the record's list and of rows.

/** Where an item was found: a place in the record's list, or in that of a row. */
export type FoundScheduled = {
  readonly id: string
  readonly wanted: ScheduledId
  readonly place: { readonly row?: EntryRow; readonly place: number }
}

export type Removal = {
  readonly items: readonly {
    readonly id: string
    readonly entry: ScheduledEntry
    readonly index: number | undefined
  }[]
  readonly taken: {
    readonly places: readonly number[]
    readonly changed: ReadonlyMap<number, string>
    readonly items: number
    readonly bytes: number
    readonly nextDue: number | undefined
  }
  /** The rows without these items. */
  readonly rows: readonly EntryRow[]
  /** The record's list without them, by place. */
  readonly left: readonly (string | undefined)[]
  /** References that have no items left. */
  readonly spent: readonly string[]
}

/** The order in which they join: by time, then by row, then by push. */
export function inOrderOfTime(a: FoundScheduled, b: FoundScheduled): number {
  const row = ({ place }: FoundScheduled): string => place.row?.sk ?? '~'
  if (a.wanted.due !== b.wanted.due) return a.wanted.due - b.wanted.due
  if (row(a) !== row(b)) return row(a) < row(b) ? -1 : 1
  return a.place.place - b.place.place || (a.wanted.index ?? 0) - (b.wanted.index ?? 0)
}

export const entryOf = ({ entries }: Scheduled, { place }: FoundScheduled): ScheduledEntry =>
  decodeScheduled((place.row?.entries ?? entries)[place.place] as string)

export function removalOf(scheduled: Scheduled, found: readonly FoundScheduled[]): Removal {
  const items: Removal['items'][number][] = []
  const spent: string[] = []
  const lists = new Map<string, List>()
  for (const { id, wanted, place } of found) {
    const list = listOf(lists, scheduled, place.row)
    const text = list.entries[place.place]
    const entry = text === undefined ? undefined : decodeScheduled(text)
    if (entry === undefined || !indexesLeft(entry).includes(wanted.index)) continue
    items.push({ id, entry, index: wanted.index })
    const left = { ...entry, gone: [...entry.gone, wanted.index ?? 0] }
    const isGone = !isReference(entry.entry) || indexesLeft(left).length === 0
    if (isGone && isReference(entry.entry)) spent.push(entry.entry)
    list.entries[place.place] = isGone ? undefined : encodeScheduled(left)
  }
  const own = lists.get('')?.entries ?? scheduled.entries
  const rows = [...lists.values()].flatMap(({ row, entries }) =>
    row === undefined ? [] : [{ ...row, entries: entries.filter((one) => one !== undefined) }],
  )
  const { nextDue } = scheduled
  const taken = { ...changesIn(scheduled.entries, own), items: items.length, nextDue }
  return { items, taken, rows, left: own, spent }
}

type List = { readonly row?: EntryRow; readonly entries: (string | undefined)[] }

function listOf(lists: Map<string, List>, scheduled: Scheduled, row: EntryRow | undefined): List {
  const key = row?.sk ?? ''
  const known = lists.get(key)
  if (known !== undefined) return known
  const list = { ...(row && { row }), entries: [...(row?.entries ?? scheduled.entries)] }
  lists.set(key, list)
  return list
}

function changesIn(before: readonly string[], after: readonly (string | undefined)[]) {
  const places: number[] = []
  const changed = new Map<number, string>()
  let bytes = 0
  for (const [place, was] of before.entries()) {
    const is = after[place]
    if (is === was) continue
    bytes += scheduledBytes(was) - (is === undefined ? 0 : scheduledBytes(is))
    if (is === undefined) places.push(place)
    else changed.set(place, is)
  }
  return { places, changed, bytes }
}
