import type { Row } from '../../foundation/dynamo.ts'
import { isReference, spanOf } from '../core/entry.ts'
import { chunkSortKey, parseChunkSortKey, recalledSortKey, segmentPartition } from '../core/keys.ts'
import { ROW_BYTES_MAX } from '../core/limits.ts'
import type { Lane } from '../core/record.ts'
import { pack } from './codec.ts'

// The rows of segments that a seal or a recall writes.

/** Chunk rows for the entries at the front of a lane's tail. A row never crosses a segment's end. */
export function chunkRows(queue: string, lane: Lane, entries: readonly string[]): Row[] {
  const rows: Row[] = []
  let run: string[] = []
  let runFrom = lane.sealed
  const flush = (): void => {
    if (run.length > 0) rows.push(itemsRow(queue, lane, runFrom, run))
    run = []
  }
  let sequence = lane.sealed
  for (const entry of entries) {
    const span = spanOf(entry)
    if (isReference(entry)) {
      flush()
      rows.push(...referenceRows(queue, lane, sequence, entry))
    } else {
      if (run.length > 0 && sequence % lane.segmentSize === 0) flush()
      if (run.length === 0) runFrom = sequence
      run.push(entry)
    }
    sequence += span
  }
  flush()
  // Nobody will ever read a row whose items are all settled, so we need not write it.
  return rows.filter(
    (row) => row.b !== undefined || parseChunkSortKey(row.sk as string).to > lane.head,
  )
}

function itemsRow(queue: string, lane: Lane, from: number, entries: readonly string[]): Row {
  const segment = Math.floor(from / lane.segmentSize)
  return {
    pk: segmentPartition(queue, lane.epoch, lane.priority, segment),
    sk: chunkSortKey(from, from + entries.length),
    d: pack(entries),
  }
}

/** One row for each segment into which a reference reaches. */
function referenceRows(queue: string, lane: Lane, start: number, reference: string): Row[] {
  const rows: Row[] = []
  const end = start + spanOf(reference)
  for (let from = start; from < end; ) {
    const segment = Math.floor(from / lane.segmentSize)
    const to = Math.min(end, (segment + 1) * lane.segmentSize)
    rows.push({
      pk: segmentPartition(queue, lane.epoch, lane.priority, segment),
      sk: chunkSortKey(from, to),
      b: reference,
      i: from - start,
    })
    from = to
  }
  return rows
}

/** The rows of a recalled copy, under separate keys. */
export function recalledRows(
  queue: string,
  lane: Lane,
  segment: number,
  entries: readonly string[],
): Row[] {
  const rows: Row[] = []
  const pk = segmentPartition(queue, lane.epoch, lane.priority, segment)
  let from = segment * lane.segmentSize
  for (const run of runsOfBytes(entries, ROW_BYTES_MAX)) {
    rows.push({ pk, sk: recalledSortKey(from, from + run.length), d: pack(run) })
    from += run.length
  }
  return rows
}

function* runsOfBytes(entries: readonly string[], bytesMax: number): Generator<readonly string[]> {
  let run: string[] = []
  let bytes = 0
  for (const entry of entries) {
    const size = Buffer.byteLength(entry) + 8
    if (run.length > 0 && bytes + size > bytesMax) {
      yield run
      run = []
      bytes = 0
    }
    run.push(entry)
    bytes += size
  }
  if (run.length > 0) yield run
}
