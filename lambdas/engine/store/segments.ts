import type { Dynamo, Row } from '../../foundation/dynamo.ts'
import type { Objects } from '../../foundation/objects.ts'
import type { Key } from '../../foundation/table.ts'
import { decodeReference } from '../core/entry.ts'
import {
  afterRecalled,
  parseChunkSortKey,
  recalledSortKey,
  segmentObjectKey,
  segmentPartition,
} from '../core/keys.ts'
import type { Lane } from '../core/record.ts'
import { pack, unpack } from './codec.ts'

/** Where one item of a segment is: here, or in a batch. */
export type Fact = string | { readonly reference: string; readonly index: number }

/** A segment of 1,000 items of 256 KiB is 256 pages of 1 MB. */
const PAGES_MAX = 300

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

/** Numbers [from, to), or as many of them, from the first on, as fit into this many bytes. */
export type Wanted = { readonly from: number; readonly to: number; readonly bytesMax: number }

const RECALLED_PREFIX = 'r'

async function allPages(
  dynamo: Dynamo,
  condition: string,
  values: Record<string, unknown>,
  consistent: boolean,
): Promise<Row[]> {
  const rows: Row[] = []
  let from: Row | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
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
  throw new Error(`A segment has more than ${PAGES_MAX} pages of rows`)
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

/** The batches that a segment's rows refer to, with the number of the batch's first item. */
export function referencesIn(
  rows: readonly Row[],
): { reference: ReturnType<typeof decodeReference>; start: number }[] {
  const seen = new Map<string, { reference: ReturnType<typeof decodeReference>; start: number }>()
  for (const row of rows) {
    if (typeof row.b !== 'string' || seen.has(row.b)) continue
    const { from } = parseChunkSortKey(row.sk as string)
    seen.set(row.b, { reference: decodeReference(row.b), start: from - (row.i as number) })
  }
  return [...seen.values()]
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
