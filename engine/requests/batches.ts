import type { Clock, Dynamo } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import { QueueError } from '../../shared/errors.ts'
import { BoundedCache } from '../../shared/system.ts'
import { type BatchReference, encodeReference } from '../core/item.ts'
import { batchObjectKey, batchPartKey } from '../core/keys.ts'
import {
  BATCH_PART_ITEMS,
  BATCH_TO_S3_BYTES,
  READ_AHEAD_BYTES,
  REMEMBERED_AHEAD_BYTES_MAX,
  ROW_BYTES_MAX,
} from '../core/limits.ts'
import { pack, unpack } from './segment-rows.ts'

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

type Stores = { readonly dynamo: Dynamo; readonly objects: Objects }
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

/** Items a part, largest first: a row must hold a whole part. */
const PART_SIZES = [BATCH_PART_ITEMS, 50, 20, 10, 5, 2, 1]

/**
 * Stores the items of a large push under a fresh id and returns the reference that makes them part
 * of the queue once it is appended. A crash before that leaves a stray batch, never an item.
 */
export async function writeBatch(
  stores: { readonly dynamo: Dynamo; readonly objects: Objects },
  queue: string,
  batch: string,
  entries: readonly string[],
): Promise<string> {
  const parts = partsOf(entries, BATCH_PART_ITEMS)
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  if (bytes >= BATCH_TO_S3_BYTES) {
    try {
      await stores.objects.put(batchObjectKey(queue, batch), Buffer.concat(parts))
      return encodeReference({
        storage: 's3',
        batch,
        count: entries.length,
        partItems: BATCH_PART_ITEMS,
        partBytes: parts.map((part) => part.length),
      })
    } catch (error) {
      // S3 saves money here and must not cost an answer: rows will do.
      return await writeRows(stores.dynamo, queue, batch, entries).catch((second: unknown) => {
        throw neitherTook(error, second)
      })
    }
  }
  return writeRows(stores.dynamo, queue, batch, entries)
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

export const partsIn = (reference: BatchReference): number =>
  Math.ceil(reference.count / reference.partItems)

export async function deleteBatchParts(
  stores: { readonly dynamo: Dynamo; readonly objects: Objects },
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

function partsOf(entries: readonly string[], partItems: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0; at < entries.length; at += partItems) {
    parts.push(pack(entries.slice(at, at + partItems)))
  }
  return parts
}
