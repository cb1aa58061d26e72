import { type Append, isDeepInBulk } from './append.ts'
import { entryBytes, spanOf } from './entry.ts'
import {
  BULK_TAIL_BYTES,
  ENTRIES_PER_SEAL,
  LONE_TAIL_BYTES,
  NOTE_MARKS_KEPT,
  NOTES_PER_SEAL,
  TAIL_SOFT_BYTES,
} from './limits.ts'
import { noteBytes, withoutNotes } from './notes.ts'
import type { Lane, QueueRecord } from './record.ts'
import { runsAfter, runsLeft } from './runs.ts'

export type Seal = {
  readonly tails: readonly SealedTail[]
  /** Notes, by the hash of their key, whose receipts are written. */
  readonly notes: readonly string[]
}

type SealedTail = { readonly lane: Lane; readonly entries: readonly string[] }

/** Lanes one seal may take: each needs some bytes of the expression that removes its entries. */
const LANES_PER_SEAL = 40

/**
 * What to copy out: all notes, as far as one write can remove them, then the largest tails, until half the cap is
 * free. Sealing everything would leave a tiny chunk for each lane. It takes a lane's whole tail, as far as one
 * expression can remove the entries. Undefined if the tail is too small for a seal.
 */
export function planSeal(
  record: QueueRecord,
  capBytes: number = isDeepInBulk(record) ? BULK_TAIL_BYTES : TAIL_SOFT_BYTES,
  fromBytes: number = capBytes,
): Seal | undefined {
  if (record.tailBytes < fromBytes) return undefined
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

/**
 * The record once all rows are written, with exactly that prefix taken off each tail, and without the notes. A lone
 * producer leaves no marks, because no other push is on its way.
 */
export function sealed(record: QueueRecord, { tails, notes }: Seal, alone: boolean): QueueRecord {
  const lanes = new Map(record.lanes)
  let tailBytes = record.tailBytes
  let runsHeld = 0
  for (const lane of lanes.values()) runsHeld += lane.runs.length
  for (const { lane, entries } of tails) {
    let span = 0
    for (const entry of entries) span += spanOf(entry)
    const tail = lane.tail.slice(entries.length)
    const others = runsHeld - lane.runs.length
    const runs = runsAfter(lane, entries, runsLeft(others))
    runsHeld = others + runs.length
    lanes.set(lane.priority, { ...lane, sealed: lane.sealed + span, tail, runs })
    tailBytes -= bytesOf(entries)
  }
  return withoutNotes({ ...record, lanes, tailBytes }, notes, alone ? 0 : NOTE_MARKS_KEPT)
}

/**
 * A push that would carry the tail over its cap, and knows of no other producer, seals before
 * it appends: its entries replace the tail that was copied out. Undefined if one of the push's lanes
 * would keep entries in its tail, because one write cannot both take from a list and add to it.
 */
export function planSealBefore(record: QueueRecord, append: Append): Seal | undefined {
  const tailBytes = record.tailBytes + append.bytes
  if (tailBytes < BULK_TAIL_BYTES || record.room < append.items) return undefined
  const isBulk = isDeepInBulk(record)
  if (!isBulk && tailBytes < LONE_TAIL_BYTES) return undefined
  const seal = planSeal(record, isBulk ? BULK_TAIL_BYTES : TAIL_SOFT_BYTES, 0)
  if (seal === undefined) return undefined
  const emptied = new Map(
    seal.tails.map(({ lane, entries }) => [lane.priority, lane.tail.length === entries.length]),
  )
  return [...append.lanes.keys()].every((priority) => emptied.get(priority)) ? seal : undefined
}

/** The record after that seal, with the push's entries as the only ones in its lanes' tails. */
export function sealedAndAppended(record: QueueRecord, seal: Seal, append: Append): QueueRecord {
  const draft = sealed(record, seal, true)
  const lanes = new Map(draft.lanes)
  for (const [priority, entries] of append.lanes) {
    lanes.set(priority, { ...(lanes.get(priority) as Lane), tail: entries })
  }
  return {
    ...draft,
    lanes,
    notes: new Map([...draft.notes, ...(append.notes ?? [])]),
    sequence: append.sequence?.last ?? draft.sequence,
    timed: draft.timed || append.timed === true,
    tailBytes: draft.tailBytes + append.bytes,
    appends: draft.appends + 1,
    room: draft.room - append.items,
  }
}

function bytesOf(entries: readonly string[]): number {
  let bytes = 0
  for (const entry of entries) bytes += entryBytes(entry)
  return bytes
}
