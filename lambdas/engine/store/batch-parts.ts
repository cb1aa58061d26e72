import { BoundedCache } from '../../foundation/bounded-cache.ts'
import type { Dynamo } from '../../foundation/dynamo.ts'
import type { Objects } from '../../foundation/objects.ts'
import type { BatchReference } from '../core/entry.ts'
import { batchObjectKey, batchPartKey } from '../core/keys.ts'
import { READ_AHEAD_BYTES, REMEMBERED_AHEAD_BYTES_MAX } from '../core/limits.ts'
import { unpack } from './codec.ts'
import type { SegmentWatch } from './segment-watch.ts'

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
