// Entries that have left the tail of a record, by their numbers: in the chunk rows that seals write, in one object for
// each segment, and in the rows of a recalled copy, which have keys of their own. Several processes may write the same
// segment at once. They put the same item under the same number, so rows that a lost race leaves behind are still
// true, and a reader takes what all rows together say.

import type { default as Zlib } from 'node:zlib'
import type { Clock, Dynamo, Row } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import type { Key } from '../../aws/table.ts'
import { type BatchReference, decodeReference, isReference, spanOf } from '../core/item.ts'
import {
  afterRecalled,
  chunkSortKey,
  parseChunkSortKey,
  recalledSortKey,
  segmentObjectKey,
  segmentPartition,
} from '../core/keys.ts'
import { ROW_BYTES_MAX } from '../core/limits.ts'
import type { Lane } from '../core/record.ts'

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

export async function putSegmentObject(
  objects: Objects,
  queue: string,
  lane: Lane,
  segment: number,
  entries: readonly string[],
): Promise<void> {
  await objects.put(segmentObjectKey(queue, lane.epoch, lane.priority, segment), pack(entries))
}

/** Where one item of a segment is: here, or in a batch. */
export type Fact = string | { readonly reference: string; readonly index: number }

/** All rows of a segment, from every writer. Writers that lost a race leave some; all of them are true. */
export async function segmentRows(
  dynamo: Dynamo,
  queue: string,
  lane: Lane,
  segment: number,
  consistent: boolean,
): Promise<Row[]> {
  const partition = segmentPartition(queue, lane.epoch, lane.priority, segment)
  return allPages(dynamo, 'pk=:p', { ':p': partition }, consistent)
}

/**
 * The rows that seals wrote; always all of them. They hold small items that were pushed inline, or
 * references, so a segment of them is small, and the next pop wants the rest.
 */
export async function sealedRows(
  dynamo: Dynamo,
  partition: string,
  consistent: boolean,
): Promise<Row[]> {
  const values = { ':p': partition, ':r': RECALLED_PREFIX }
  return allPages(dynamo, 'pk=:p AND sk<:r', values, consistent)
}

/** Numbers [from, to), or as many of them, from the first on, as fit into this many bytes. */
export type Wanted = { readonly from: number; readonly to: number; readonly bytesMax: number }

const RECALLED_PREFIX = 'r'

/**
 * Of the rows that a recall wrote, only those that hold the wanted numbers: each is as large as a row can be,
 * so a segment of large items has many. The first one to read is the last that begins at or before the
 * number; it tells how many more we need.
 */
export async function recalledRowsFrom(
  dynamo: Dynamo,
  partition: string,
  { from, to, bytesMax }: Wanted,
  consistent: boolean,
): Promise<Row[]> {
  const ask = (low: string, high: string, limit: number, forward: boolean) =>
    dynamo.query({
      KeyConditionExpression: 'pk=:p AND sk BETWEEN :l AND :h',
      ExpressionAttributeValues: { ':p': partition, ':l': low, ':h': high },
      ConsistentRead: consistent,
      ScanIndexForward: forward,
      Limit: limit,
    })
  const { rows } = await ask(RECALLED_PREFIX, afterRecalled(from), 1, false)
  const [first] = rows
  if (first === undefined) return []
  const found = [first]
  const one = parseChunkSortKey(first.sk as string)
  const rowBytes = (first.d as Uint8Array).length
  let bytes = rowBytes
  let next = one.to
  while (next < to && bytes < bytesMax) {
    const rowsToGo = Math.ceil((to - next) / Math.max(1, one.to - one.from))
    const rowsThatFit = Math.ceil((bytesMax - bytes) / rowBytes)
    const limit = Math.min(rowsToGo, rowsThatFit)
    const page = await ask(recalledSortKey(next, 0), afterRecalled(to), limit, true)
    found.push(...page.rows)
    const last = page.rows.at(-1)
    if (last === undefined) break
    for (const row of page.rows) bytes += (row.d as Uint8Array).length
    next = Math.max(next + 1, parseChunkSortKey(last.sk as string).to)
  }
  return found
}

/** A segment of 1,000 items of 256 KiB is 256 pages of 1 MB. */
const SEGMENT_PAGES_MAX = 300

async function allPages(
  dynamo: Dynamo,
  condition: string,
  values: Record<string, unknown>,
  consistent: boolean,
): Promise<Row[]> {
  const rows: Row[] = []
  let from: Row | undefined
  for (let page = 0; page < SEGMENT_PAGES_MAX; page += 1) {
    const { rows: some, next } = await dynamo.query({
      KeyConditionExpression: condition,
      ExpressionAttributeValues: values,
      ConsistentRead: consistent,
      ...(from !== undefined && { ExclusiveStartKey: from }),
    })
    rows.push(...some)
    if (next === undefined) return rows
    from = next
  }
  throw new Error(`A segment has more than ${SEGMENT_PAGES_MAX} pages of rows`)
}

export async function segmentObject(
  objects: Objects,
  queue: string,
  lane: Lane,
  segment: number,
): Promise<Map<number, Fact> | undefined> {
  const body = await objects.get(segmentObjectKey(queue, lane.epoch, lane.priority, segment))
  if (body === undefined) return undefined
  const from = segment * lane.segmentSize
  return new Map(unpack(body).map((entry, index) => [from + index, entry]))
}

/** What all rows together say, by sequence number. */
export function factsOf(rows: readonly Row[]): Map<number, Fact> {
  const facts = new Map<number, Fact>()
  for (const row of rows) {
    const { from, to } = parseChunkSortKey(row.sk as string)
    if (typeof row.b === 'string') {
      for (let n = from; n < to; n += 1) {
        if (!facts.has(n)) {
          facts.set(n, { reference: row.b, index: (row.i as number) + n - from })
        }
      }
      continue
    }
    for (const [index, entry] of unpack(row.d as Uint8Array).entries()) {
      facts.set(from + index, entry)
    }
  }
  return facts
}

export const keyOfRow = (row: Row): Key => ({ pk: row.pk as string, sk: row.sk as string })

/** A batch, and the number of its first item. */
type BatchInLane = { readonly reference: BatchReference; readonly start: number }

/** The batches that a segment's rows refer to. */
export function referencesIn(rows: readonly Row[]): BatchInLane[] {
  const seen = new Map<string, BatchInLane>()
  for (const row of rows) {
    if (typeof row.b !== 'string' || seen.has(row.b)) continue
    const { from } = parseChunkSortKey(row.sk as string)
    seen.set(row.b, { reference: decodeReference(row.b), start: from - (row.i as number) })
  }
  return [...seen.values()]
}

// Loaded when something is first packed or unpacked: 1.6 ms of a cold start otherwise.
const zlib = (): Partial<typeof Zlib> => process.getBuiltinModule('node:zlib')

/** AWS bills a row of up to 1 KB as one unit, however small it is: compressing it would only cost time. */
const COMPRESS_FROM_BYTES = 900
/** Far more than any row or part holds: bounds the size to which a damaged one may unpack. */
const UNPACKED_BYTES_MAX = 512 * 1024 * 1024

/**
 * Entries as one value: each as decimal byte length, a colon, and its text; compressed if that makes it
 * smaller. The first byte shows whether it is: a digit, or zstd's magic number.
 */
export function pack(entries: readonly string[]): Uint8Array {
  const plain = Buffer.from(
    entries.map((entry) => `${Buffer.byteLength(entry)}:${entry}`).join(''),
    'utf8',
  )
  if (plain.length < COMPRESS_FROM_BYTES) return plain
  const { zstdCompressSync } = zlib()
  // Node before 22.15 has no zstd. Every engine can read uncompressed values.
  if (zstdCompressSync === undefined) return plain
  const compressed = zstdCompressSync(plain)
  return compressed.length < plain.length ? compressed : plain
}

const ZSTD_FIRST_BYTE = 0x28
const COLON = 0x3a
const ZERO = 0x30

const isDigit = (byte: number | undefined): byte is number =>
  byte !== undefined && byte >= ZERO && byte < ZERO + 10

export function unpack(packed: Uint8Array): string[] {
  const bytes =
    packed[0] === ZSTD_FIRST_BYTE
      ? decompress(packed)
      : Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const entries: string[] = []
  for (let at = 0; at < bytes.length; ) {
    let length = 0
    let colon = at
    for (let byte = bytes[at]; isDigit(byte); byte = bytes[colon]) {
      length = 10 * length + byte - ZERO
      colon += 1
    }
    const digits = colon - at
    const from = colon + 1
    const to = from + length
    if (bytes[colon] !== COLON || digits < 1 || digits > 9 || to > bytes.length) {
      throw new Error('A packed row is damaged')
    }
    entries.push(bytes.toString('utf8', from, to))
    at = to
  }
  return entries
}

function decompress(packed: Uint8Array): Buffer {
  const { zstdDecompressSync } = zlib()
  if (zstdDecompressSync !== undefined) {
    return zstdDecompressSync(packed, { maxOutputLength: UNPACKED_BYTES_MAX })
  }
  throw new Error(
    `Cannot read items that were compressed with zstd because Node ${process.versions.node} has none: use Node 22.15 or newer`,
  )
}

/** We wrote a segment to S3, or read a segment or a part of a batch from there; or that failed. */
export type SegmentMoved = {
  readonly queue: string
  readonly kind: 'offload' | 'load'
  /** The time with all retries and unpacking; 0 if S3 did not return an object that exists. */
  readonly ms: number
  readonly failed: boolean
}

export type SegmentWatch = Readonly<
  Record<SegmentMoved['kind'], <T>(queue: string, work: () => Promise<T>) => Promise<T>>
> & {
  /** This many loads found nothing, although the record says that the data is there: these count as failures, too. */
  readonly missed: (queue: string, loads: number) => void
}

/** Reports how long writes to S3 and reads from there take, and which of them fail. */
export function watchSegments(clock: Clock, tell: (moved: SegmentMoved) => void): SegmentWatch {
  const watched =
    (kind: SegmentMoved['kind']) =>
    async <T>(queue: string, work: () => Promise<T>): Promise<T> => {
      const startedMs = clock.nowMs()
      const done = (failed: boolean): void =>
        tell({ queue, kind, ms: clock.nowMs() - startedMs, failed })
      try {
        const result = await work()
        // If it found nothing, the caller reads the record again and then knows whether that is a failure.
        if (kind === 'offload' || result !== undefined) done(false)
        return result
      } catch (error) {
        done(true)
        throw error
      }
    }
  return {
    offload: watched('offload'),
    load: watched('load'),
    missed(queue, loads) {
      for (let n = 0; n < loads; n += 1) tell({ queue, kind: 'load', ms: 0, failed: true })
    },
  }
}

export const unwatched: SegmentWatch = {
  offload: (_, work) => work(),
  load: (_, work) => work(),
  missed: () => {},
}
