import { type Append, type Placed, placedAt } from './append.ts'
import { spanOf } from './entry.ts'
import { decodeNote, isSameNote, type Note, type Place, type Places, placesOf } from './notes.ts'
import type { QueueRecord } from './record.ts'

// Where a push finds what it brought, after its answer was lost.

/** By its entries, whose tags show that they are its own. */
export function findAppend(append: Append, record: QueueRecord): Map<number, number> | undefined {
  const starts = new Map<number, number>()
  for (const [priority, entries] of append.lanes) {
    const lane = record.lanes.get(priority)
    const at = lane === undefined ? -1 : indexOfRun(lane.tail, entries)
    if (lane === undefined || at === -1) return undefined
    let sequence = lane.sealed
    for (const entry of lane.tail.slice(0, at)) sequence += spanOf(entry)
    starts.set(priority, sequence)
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
