import type { Append } from './append.ts'
import { entryBytes, spanOf } from './entry.ts'
import { ENTRIES_PER_SEAL, LONE_TAIL_BYTES, TAIL_SOFT_BYTES } from './limits.ts'
import type { Lane, QueueRecord } from './record.ts'
import { runsAfter } from './runs.ts'

export type Seal = {
  readonly lane: Lane
  readonly entries: readonly string[]
}

/** Lanes one seal may take: each needs some bytes of the expression that removes its entries. */
const LANES_PER_SEAL = 40

/**
 * Which tails to copy out: the largest first, until half the cap is free. Sealing everything would
 * leave a chunk of crumbs for each lane. A lane that is taken is taken whole, as far as one
 * expression can remove its entries.
 */
export function planSeal(record: QueueRecord, fromBytes: number = TAIL_SOFT_BYTES): Seal[] {
  if (record.tailBytes < fromBytes) return []
  const lanes = [...record.lanes.values()]
    .map((lane) => ({ lane, bytes: bytesOf(lane.tail) }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes || a.lane.priority - b.lane.priority)
  const seals: Seal[] = []
  let left = record.tailBytes
  let room = ENTRIES_PER_SEAL
  for (const { lane, bytes } of lanes.slice(0, LANES_PER_SEAL)) {
    if (left <= TAIL_SOFT_BYTES / 2 || room === 0) break
    const entries = lane.tail.slice(0, room)
    seals.push({ lane, entries })
    left -= bytes
    room -= entries.length
  }
  return seals
}

/** The record once the entries' rows are written and exactly that prefix is off each tail. */
export function sealed(record: QueueRecord, seals: readonly Seal[]): QueueRecord {
  const lanes = new Map(record.lanes)
  let tailBytes = record.tailBytes
  for (const { lane, entries } of seals) {
    let span = 0
    for (const entry of entries) span += spanOf(entry)
    const tail = lane.tail.slice(entries.length)
    const runs = runsAfter(lane, entries)
    lanes.set(lane.priority, { ...lane, sealed: lane.sealed + span, tail, runs })
    tailBytes -= bytesOf(entries)
  }
  return { ...record, lanes, tailBytes }
}

/**
 * A push that would carry the tail over its cap, and knows of no other producer, seals before
 * it appends: its entries take the place of the tail that was copied out. Nothing where a lane of
 * its own would stay in the tail, because one write cannot both take from a list and add to it.
 */
export function planSealBefore(record: QueueRecord, append: Append): Seal[] {
  if (record.tailBytes + append.bytes < LONE_TAIL_BYTES) return []
  if (record.room < append.items) return []
  const seals = planSeal(record, 0)
  const emptied = new Map(
    seals.map(({ lane, entries }) => [lane.priority, lane.tail.length === entries.length]),
  )
  return [...append.lanes.keys()].every((priority) => emptied.get(priority)) ? seals : []
}

/** The record once those are sealed and the push's entries are all that its lanes' tails hold. */
export function sealedAndAppended(
  record: QueueRecord,
  seals: readonly Seal[],
  append: Append,
): QueueRecord {
  const draft = sealed(record, seals)
  const lanes = new Map(draft.lanes)
  for (const [priority, entries] of append.lanes) {
    lanes.set(priority, { ...(lanes.get(priority) as Lane), tail: entries })
  }
  return {
    ...draft,
    lanes,
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
