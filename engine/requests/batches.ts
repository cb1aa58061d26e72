// Batches: the items of a large push, stored before the push as one object or as rows, so that its append brings only
// a reference. Nobody can find a batch before an append refers to it, so a crash in between leaves a stray, never an
// item. A batch never changes; who deletes its parts must know that nobody needs them any more.

import type { Dynamo, Random } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import { QueueError } from '../../shared/errors.ts'
import { BoundedCache, randomText } from '../../shared/system.ts'
import { type BatchReference, encodeReference } from '../core/item.ts'
import { batchObjectKey, batchPartKey } from '../core/keys.ts'
import {
  BATCH_PART_ITEMS,
  BATCH_TO_S3_BYTES,
  READ_AHEAD_BYTES,
  REMEMBERED_AHEAD_BYTES_MAX,
  ROW_BYTES_MAX,
} from '../core/limits.ts'
import { pack, type SegmentWatch, unpack } from './segment-rows.ts'

type Stores = { readonly dynamo: Dynamo; readonly objects: Objects }

/** Items a part, largest first: a row must hold a whole part. */
const PART_SIZES = [BATCH_PART_ITEMS, 50, 20, 10, 5, 2, 1]

/** Batches that one call writes at a time, so that it is quick and floods no table. */
export const BATCHES_AT_ONCE = 8

/** Stores the entries under a fresh id. The reference, once it is appended, makes them part of the queue. */
export async function writeBatch(
  { dynamo, objects, random }: Stores & { readonly random: Random },
  queue: string,
  entries: readonly string[],
): Promise<string> {
  const batch = randomText(random, 8)
  const parts = partsOf(entries, BATCH_PART_ITEMS)
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  if (bytes >= BATCH_TO_S3_BYTES) {
    try {
      await objects.put(batchObjectKey(queue, batch), Buffer.concat(parts))
      return encodeReference({
        storage: 's3',
        batch,
        count: entries.length,
        partItems: BATCH_PART_ITEMS,
        partBytes: parts.map((part) => part.length),
      })
    } catch (error) {
      // S3 saves money here and must not cost an answer: rows will do.
      return await writeRows(dynamo, queue, batch, entries).catch((second: unknown) => {
        throw neitherTook(error, second)
      })
    }
  }
  return writeRows(dynamo, queue, batch, entries)
}

/** The error of the rows, as it would be alone, with that of S3 as part of its cause. */
function neitherTook(first: unknown, second: unknown): Error {
  const cause = new AggregateError([first, second], 'Neither S3 nor DynamoDB took the batch')
  if (!(second instanceof QueueError)) return cause
  const { code, message, outcome } = second
  return new QueueError(code, message, { cause, outcome })
}

async function writeRows(
  dynamo: Dynamo,
  queue: string,
  batch: string,
  entries: readonly string[],
): Promise<string> {
  for (const partItems of PART_SIZES) {
    const parts = partsOf(entries, partItems)
    if (partItems > 1 && parts.some((part) => part.length > ROW_BYTES_MAX)) continue
    await dynamo.putMany(
      parts.map((part, index) => ({ ...batchPartKey(queue, batch, index), d: part })),
    )
    return encodeReference({
      storage: 'rows',
      batch,
      count: entries.length,
      partItems,
      partBytes: [],
    })
  }
  throw new Error('unreachable: a part of one item always fits a row')
}

function partsOf(entries: readonly string[], partItems: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0; at < entries.length; at += partItems) {
    parts.push(pack(entries.slice(at, at + partItems)))
  }
  return parts
}

/** Bytes of a batch's object, still packed. */
type Ahead = { readonly from: number; readonly bytes: Uint8Array }

/**
 * Reads batches part by part. A GET from S3 costs the same however much it reads, so it reads the following parts
 * as well, which the next pops will need.
 */
export class BatchParts {
  readonly #stores: Stores
  readonly #watch: SegmentWatch
  readonly #ahead = new BoundedCache<Ahead>(REMEMBERED_AHEAD_BYTES_MAX)

  constructor(stores: Stores, watch: SegmentWatch) {
    this.#stores = stores
    this.#watch = watch
  }

  /** The entries of one part; `undefined` if it does not exist. */
  async read(
    queue: string,
    reference: BatchReference,
    part: number,
  ): Promise<string[] | undefined> {
    if (reference.storage === 's3') return this.#readObject(queue, reference, part)
    const { dynamo } = this.#stores
    const key = batchPartKey(queue, reference.batch, part)
    const row = (await dynamo.get(key, false)) ?? (await dynamo.get(key, true))
    return row && unpack(row.d as Uint8Array)
  }

  #readObject(
    queue: string,
    { batch, partBytes }: BatchReference,
    part: number,
  ): Promise<string[] | undefined> | string[] {
    const key = batchObjectKey(queue, batch)
    const from = partBytes.slice(0, part).reduce((sum, bytes) => sum + bytes, 0)
    const to = from + (partBytes[part] as number)
    const known = this.#ahead.get(key)
    if (known !== undefined && known.from <= from && to <= known.from + known.bytes.length) {
      return unpack(known.bytes.subarray(from - known.from, to - known.from))
    }
    let end = to
    for (const bytes of partBytes.slice(part + 1)) {
      if (end + bytes - from > READ_AHEAD_BYTES) break
      end += bytes
    }
    return this.#watch.load(queue, async () => {
      const bytes = await this.#stores.objects.get(key, { from, to: end })
      if (bytes === undefined) return undefined
      if (end > to) this.#ahead.set(key, { from, bytes }, bytes.length)
      return unpack(bytes.subarray(0, to - from))
    })
  }
}

export const partsIn = (reference: BatchReference): number =>
  Math.ceil(reference.count / reference.partItems)

export const deleteBatch = (
  stores: Stores,
  queue: string,
  reference: BatchReference,
): Promise<void> =>
  deleteBatchParts(stores, queue, reference, [...Array(partsIn(reference)).keys()])

export async function deleteBatchParts(
  stores: Stores,
  queue: string,
  reference: BatchReference,
  parts: readonly number[],
): Promise<void> {
  if (parts.length === 0) return
  if (reference.storage === 's3') {
    await stores.objects.deleteMany([batchObjectKey(queue, reference.batch)])
  } else {
    await stores.dynamo.deleteMany(parts.map((part) => batchPartKey(queue, reference.batch, part)))
  }
}
