// What one append adds to the record, what stands in its way, and where its items came to lie. An append is blind: it
// goes to the ends of its lanes, wherever they are by then, if the record still has room; so appends do not lose races
// against each other. One with keys, inbox messages or scheduled items depends on a record that we have seen, and passes
// only if none of what it brings has come meanwhile. If its answer is lost, its entries and notes tell where it went.

import type { PushItem } from './check-requests.ts'
import { entryBytes, isReference, isTimed, spanOf, spanOfAll } from './item.ts'
import { itemId } from './keys.ts'
import { type Later, scheduledBytesAllowed } from './later.ts'
import { BULK_TAIL_BYTES, LANES_MAX, SEALS_BEHIND_MAX, TAIL_SOFT_BYTES } from './limits.ts'
import { endOf, type Lane, type QueueRecord } from './record.ts'
import {
  decodeNote,
  isApplied,
  isSameNote,
  mayHaveLeft,
  type Note,
  noteBytes,
  type Place,
  type Places,
  placesOf,
  type Sequence,
} from './repeated-pushes.ts'

/** What one append adds to the record, all or nothing. It may bring several pushes. */
export type Append = {
  /** The entries of each lane. */
  readonly lanes: ReadonlyMap<number, readonly string[]>
  readonly items: number
  /** Of entries and notes. */
  readonly bytes: number
  /** The notes of its pushes with a key, by the key's hash. The append passes only if the record has none of them. */
  readonly notes?: ReadonlyMap<string, string>
  /** The inbox messages that it brings. The append passes only if the record has applied none from the first on. */
  readonly sequence?: { readonly first: Sequence; readonly last: string }
  /** At least one item has its own times, even if only a reference stands for it. */
  readonly timed?: true
  /** What it schedules: in no lane yet, and not counted among its items. Needs a record that we have seen. */
  readonly later?: Later
}

export function appendOf(
  lanes: ReadonlyMap<number, readonly string[]>,
  { timed = false }: { readonly timed?: boolean | undefined } = {},
): Append {
  let items = 0
  let bytes = 0
  let hasTimed = timed
  for (const entries of lanes.values()) {
    for (const entry of entries) {
      items += spanOf(entry)
      bytes += entryBytes(entry)
      hasTimed ||= isTimed(entry)
    }
  }
  return { lanes, items, bytes, ...(hasTimed && { timed: true }) }
}

/** Adds the notes of its pushes, or the inbox messages that it applies, as conditions. */
export function withGuards(
  append: Append,
  notes: ReadonlyMap<string, string>,
  sequence: Append['sequence'],
): Append {
  let { bytes } = append
  for (const note of notes.values()) bytes += noteBytes(note)
  return { ...append, bytes, notes, ...(sequence !== undefined && { sequence }) }
}

/** Sending such an append again has no further effect. */
export const isRepeatable = ({ notes, sequence }: Append): boolean =>
  (notes !== undefined && notes.size > 0) || sequence !== undefined

/** Whether the append depends on a record that we have seen. */
export const goesByRecord = (append: Append): boolean =>
  isRepeatable(append) || append.later !== undefined

/**
 * Whether its keys and messages, which an earlier record did not know, are new to this record too, and whether the
 * ids of its scheduled items still hold.
 */
export function isNew(
  { notes = new Map(), sequence, later }: Append,
  newBy: QueueRecord,
  record: QueueRecord,
): boolean {
  const hashes = [...notes.keys()]
  if (mayHaveLeft(hashes, newBy, record) || hashes.some((hash) => record.notes.has(hash)))
    return false
  if (later !== undefined && record.scheduled.seals > later.seals + SEALS_BEHIND_MAX) return false
  return sequence === undefined || !isApplied(sequence.first, record)
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

// What stopped an append, according to the record that refused it.

/** How far a tail may grow: `ROOMY_TAIL`, or `TIGHT_TAIL` while the store throttles. */
export type TailLimits = { readonly hardBytes: number; readonly stepBytes: number }

type Obstacle =
  | { readonly kind: 'no-record' }
  | { readonly kind: 'no-lanes'; readonly missing: readonly number[] }
  | { readonly kind: 'full' }
  | { readonly kind: 'tail-full' }
  /** The record's scheduled entries are being sealed. */
  | { readonly kind: 'scheduled-full' }
  | { readonly kind: 'too-many-lanes' }
  /** Nothing is left in the way: the append lost a race and may try again. */
  | { readonly kind: 'none' }

export function obstacleTo(
  append: Append,
  record: QueueRecord | undefined,
  limits: TailLimits,
): Obstacle {
  if (record === undefined) return { kind: 'no-record' }
  if (append.items > 0 && record.room < append.items) return { kind: 'full' }
  const missing = [...append.lanes.keys()].filter((priority) => !record.lanes.has(priority))
  if (record.lanes.size + missing.length > LANES_MAX) return { kind: 'too-many-lanes' }
  if (append.bytes > 0 && record.tailBytes > tailBytesAllowed(append, limits))
    return { kind: 'tail-full' }
  if (append.later && record.scheduled.bytes > scheduledBytesAllowed(append.later))
    return { kind: 'scheduled-full' }
  return missing.length > 0 ? { kind: 'no-lanes', missing } : { kind: 'none' }
}

/**
 * An append passes while the tail holds at most this. An append that alone exceeds the cap
 * (references to many lanes at once) passes when the tail is below the soft cap.
 */
export const tailBytesAllowed = (append: Append, limits: TailLimits): number =>
  Math.max(limits.hardBytes - append.bytes, TAIL_SOFT_BYTES)

// Who seals after an append: one alone of those that come at the same time, without an election.

/** Whether a push seals after its append. */
export const sealsAfter = (record: QueueRecord, bytes: number, limits: TailLimits): boolean =>
  crossesSealLine(record.tailBytes, bytes, limits) || crossesBulkLine(record, bytes)

/**
 * Whether this append is the one to seal: it carried the tail over the soft cap, or over a further
 * step. Exactly one append crosses each line, so we need no election.
 */
export function crossesSealLine(
  tailBytesAfter: number,
  bytes: number,
  { stepBytes }: TailLimits,
): boolean {
  return stepOf(tailBytesAfter, stepBytes) > stepOf(tailBytesAfter - bytes, stepBytes)
}

const stepOf = (tailBytes: number, stepBytes: number): number =>
  tailBytes < TAIL_SOFT_BYTES ? -1 : Math.floor((tailBytes - TAIL_SOFT_BYTES) / stepBytes)

/** Whether this append carried the tail over the lower line that a queue has when it is deep in bulk pushes. */
const crossesBulkLine = (record: QueueRecord, bytes: number): boolean =>
  record.tailBytes >= BULK_TAIL_BYTES &&
  record.tailBytes - bytes < BULK_TAIL_BYTES &&
  isDeepInBulk(record)

/** Sealed items still wait ahead of the tail, and the tail holds nothing but references. */
export function isDeepInBulk({ lanes }: QueueRecord): boolean {
  let isDeep = false
  for (const { head, sealed, tail } of lanes.values()) {
    if (!tail.every(isReference)) return false
    isDeep ||= sealed > head
  }
  return isDeep
}

// Where the items of an append came to lie: their numbers make their ids.

/** First sequence number in each lane, and the lane's epoch, which together make the items' ids. */
export type Placed = ReadonlyMap<number, Place>

/** The first sequence number that an append got in each lane, read from the record right after it. */
export function startsAfterAppend(append: Append, record: QueueRecord): Map<number, number> {
  const starts = new Map<number, number>()
  for (const [priority, entries] of append.lanes) {
    const lane = record.lanes.get(priority)
    if (lane === undefined) continue
    starts.set(priority, endOf(lane) - spanOfAll(entries))
  }
  return starts
}

/** The same, with the lanes' epochs. */
export const placedAt = (record: QueueRecord, starts: ReadonlyMap<number, number>): Placed =>
  new Map(
    [...starts].map(([priority, start]) => {
      const { epoch } = record.lanes.get(priority) as Lane
      return [priority, { epoch, start }]
    }),
  )

/** After its answer was lost: by its entries, whose tags show that they are its own. */
export function findAppend(append: Append, record: QueueRecord): Map<number, number> | undefined {
  const starts = new Map<number, number>()
  for (const [priority, entries] of append.lanes) {
    const lane = record.lanes.get(priority)
    const at = lane === undefined ? -1 : indexOfRun(lane.tail, entries)
    if (lane === undefined || at === -1) return undefined
    starts.set(priority, lane.sealed + spanOfAll(lane.tail.slice(0, at)))
  }
  return starts
}

/** The same for an append with notes: it starts from those of them that the record has. */
export function findNoted(append: Append, record: QueueRecord): Placed | undefined {
  let placed: Placed | undefined
  for (const [hash, sent] of append.notes ?? []) {
    const note = record.notes.get(hash)
    if (note === undefined || !isSameNote(note, sent)) continue
    const found = placesOf(record, decodeNote(note))
    placed = placedBy(append, decodeNote(sent), found, record, placed)
  }
  return placed
}

/**
 * The same, from the place of one of its pushes. Meanwhile a lane may have been made anew with another epoch; the
 * push's own place says which one it was. `others`: what its other pushes told. The result lacks a lane if none of
 * these pushes has anything there and the entries have left its tail.
 */
export function placedBy(
  append: Append,
  sent: Note,
  found: Places,
  record: QueueRecord | undefined,
  others: Placed = new Map(),
): Placed {
  const placed = new Map<number, Place>(others)
  for (const [priority, { epoch, start }] of found) {
    const place = sent.places.get(priority)
    if (place === undefined || 'epoch' in place) continue
    placed.set(priority, { epoch, start: start - place.offset })
  }
  for (const [priority, entries] of append.lanes) {
    if (placed.has(priority) || record === undefined) continue
    const inTail = findAppend({ ...append, lanes: new Map([[priority, entries]]) }, record)
    for (const [lane, place] of placedAt(record, inTail ?? new Map())) placed.set(lane, place)
  }
  return placed
}

function indexOfRun(tail: readonly string[], run: readonly string[]): number {
  const first = run[0]
  if (first === undefined) return -1
  for (let at = tail.indexOf(first); at !== -1; at = tail.indexOf(first, at + 1)) {
    if (run.every((entry, index) => tail[at + index] === entry)) return at
  }
  return -1
}

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
