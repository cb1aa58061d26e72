// What a seal copies out of the record into rows: entries of the tail and notes of keys, so that the record stays small,
// and the entries of scheduled items. Rows come first, and a fenced write then takes exactly what was copied; so a seal
// that dies leaves rows that nothing refers to, and one that loses the fence is decided anew. Appends go on meanwhile, at
// the other end of the tails.

import { isDeepInBulk } from './append.ts'
import { entryBytes, spanOfAll } from './item.ts'
import { decodeScheduled, dueOf, type ScheduledEntry } from './later.ts'
import { BULK_TAIL_BYTES, ENTRIES_PER_SEAL, SEALS_BEHIND_MAX, TAIL_SOFT_BYTES } from './limits.ts'
import type { Lane, QueueRecord, Scheduled } from './record.ts'
import { noteBytes, withoutNotes } from './repeated-pushes.ts'
import { runsAfter, runsLeft } from './runs.ts'

export type Seal = {
  readonly tails: readonly SealedTail[]
  /** Notes, by the hash of their key, whose receipts are written. */
  readonly notes: readonly string[]
}

type SealedTail = { readonly lane: Lane; readonly entries: readonly string[] }

/** Lanes one seal may take: each needs some bytes of the expression that removes its entries. */
const LANES_PER_SEAL = 40
/** Notes whose receipts one seal writes, of a row each: four requests, side by side. */
const NOTES_PER_SEAL = 100

/**
 * What to copy out: all notes, as far as one write can remove them, then the largest tails, until half the cap is
 * free. Sealing everything would leave a tiny chunk for each lane. It takes a lane's whole tail, as far as one
 * expression can remove the entries. Undefined if the tail is too small for a seal.
 */
export function planSeal(record: QueueRecord): Seal | undefined {
  const capBytes = isDeepInBulk(record) ? BULK_TAIL_BYTES : TAIL_SOFT_BYTES
  if (record.tailBytes < capBytes) return undefined
  const { notes = [] } = planNotes(record) ?? {}
  const lanes = [...record.lanes.values()]
    .map((lane) => ({ lane, bytes: bytesOf(lane.tail) }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes || a.lane.priority - b.lane.priority)
  const tails: SealedTail[] = []
  let left = record.tailBytes
  for (const hash of notes) left -= noteBytes(record.notes.get(hash) as string)
  // The same write may have to put numbers into notes that stay.
  let room = Math.max(1, ENTRIES_PER_SEAL - record.notes.size)
  for (const { lane, bytes } of lanes.slice(0, LANES_PER_SEAL)) {
    if (left <= capBytes / 2 || room === 0) break
    const entries = lane.tail.slice(0, room)
    tails.push({ lane, entries })
    left -= bytes
    room -= entries.length
  }
  return tails.length + notes.length === 0 ? undefined : { tails, notes }
}

/** The notes alone. */
export function planNotes(record: QueueRecord): Seal | undefined {
  const notes = [...record.notes.keys()].slice(0, NOTES_PER_SEAL)
  return notes.length === 0 ? undefined : { tails: [], notes }
}

/** The record once all rows are written, with exactly that prefix taken off each tail, and without the notes. */
export function sealed(record: QueueRecord, { tails, notes }: Seal): QueueRecord {
  const lanes = new Map(record.lanes)
  let tailBytes = record.tailBytes
  let runsHeld = 0
  for (const lane of lanes.values()) runsHeld += lane.runs.length
  for (const { lane, entries } of tails) {
    const span = spanOfAll(entries)
    const tail = lane.tail.slice(entries.length)
    const others = runsHeld - lane.runs.length
    const runs = runsAfter(lane, entries, runsLeft(others))
    runsHeld = others + runs.length
    lanes.set(lane.priority, { ...lane, sealed: lane.sealed + span, tail, runs })
    tailBytes -= bytesOf(entries)
  }
  return withoutNotes({ ...record, lanes, tailBytes }, notes)
}

function bytesOf(entries: readonly string[]): number {
  let bytes = 0
  for (const entry of entries) bytes += entryBytes(entry)
  return bytes
}

// Items of one second and priority join in the order in which they came, because what rows hold came before what the
// record holds. So a seal takes all entries of a second and priority or none, a move takes those along that are in the
// record for its second, and entries that go back to the record go to its front.

/**
 * An id leads to the rows of this many seals. A push may know of 16 seals fewer than there are; one more may be under
 * way, without the push's entry, when it comes; and the next one takes the entry.
 */
export const SEALS_OF_ID = SEALS_BEHIND_MAX + 2
/** A transaction has a hundred requests, of which one is for the record. */
export const ROWS_PER_SEAL = 99
/**
 * Entries of its second that a move of waiting items takes along. Beside what else such a write changes, its expression
 * has no room for more; a seal takes them first.
 */
const ENTRIES_ALONG_MAX = 16

/**
 * Places of the record's entries that a seal takes: all, except those that have waited so long that their ids would not
 * lead to a new row; and of more seconds than a transaction has room for, the first ones.
 */
export function placesToSeal({ scheduled }: QueueRecord): number[] {
  const decoded = scheduled.entries.map(decodeScheduled)
  const beyond = decoded.filter((entry) => !isWithinReach(entry, scheduled.seals))
  const staying = new Set(beyond.map(groupOf))
  const seconds = new Set<number>()
  return decoded.flatMap((entry, place) => {
    if (staying.has(groupOf(entry))) return []
    if (seconds.size === ROWS_PER_SEAL && !seconds.has(entry.due)) return []
    seconds.add(entry.due)
    return [place]
  })
}

const groupOf = ({ due, priority }: ScheduledEntry): string => `${due}.${priority}`

/** Whether an entry's id would lead to a row of the next seal. */
const isWithinReach = (entry: ScheduledEntry, seals: number): boolean =>
  seals + 1 <= entry.seals + SEALS_OF_ID

/**
 * Places of the entries that a move to these seconds takes along into its rows, ahead of what it moves: they were
 * scheduled before. `entries`: those of the record, without what the move takes out.
 */
export function placesAlong(
  { seals }: Pick<Scheduled, 'seals'>,
  entries: readonly (string | undefined)[],
  seconds: ReadonlySet<number>,
): number[] {
  return entries.flatMap((text, place) =>
    text !== undefined && seconds.has(dueOf(text)) && isWithinReach(decodeScheduled(text), seals)
      ? [place]
      : [],
  )
}

/**
 * Whether an entry has been in the record for so many seals that the next one must take it: nobody looks for it in the
 * rows of later seals. A move uses up the number of a seal too, and leaves such an entry in the record.
 */
export function mustSeal(record: QueueRecord): boolean {
  const { entries, seals } = record.scheduled
  return placesToSeal(record).some((place) => {
    const entry = decodeScheduled(entries[place] as string)
    return seals - entry.seals >= SEALS_BEHIND_MAX
  })
}

/** Whether a seal comes before the write that puts waiting items off to this second. */
export const mustSealBefore = (record: QueueRecord, due: number): boolean =>
  mustSeal(record) ||
  placesAlong(record.scheduled, record.scheduled.entries, new Set([due])).length > ENTRIES_ALONG_MAX
