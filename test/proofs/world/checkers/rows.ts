import { type BatchReference, decodeReference } from '../../../../engine/core/item.ts'
import { batchObjectKey, batchPartKey, parseChunkSortKey } from '../../../../engine/core/keys.ts'
import { unpack } from '../../../../engine/requests/segment-rows.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Item } from '../../../../testing/simulated/dynamodb/values.ts'
import { getOrMake } from '../harness/get-or-make.ts'
import type { Model } from './model.ts'

/** A row of a segment: it holds the entries themselves, or says where in a batch they are. */
export type ChunkRow = {
  readonly from: number
  readonly to: number
  readonly recalled: boolean
  readonly entries: readonly string[] | undefined
  readonly reference: { readonly entry: string; readonly index: number } | undefined
}

/** A mirror of the rows beside the queue records, by partition. */
export class Rows {
  readonly #partitions = new Map<string, Map<string, Item>>()
  readonly #chunks = new WeakMap<Item, ChunkRow>()
  readonly #unpacked = new WeakMap<object, readonly string[]>()

  apply({ pk, sk, newItem }: Change): void {
    const partition = getOrMake(this.#partitions, pk, () => new Map())
    if (newItem === undefined) partition.delete(sk)
    else partition.set(sk, newItem)
    if (partition.size === 0) this.#partitions.delete(pk)
  }

  partition(pk: string): ReadonlyMap<string, Item> | undefined {
    return this.#partitions.get(pk)
  }

  row(pk: string, sk: string): Item | undefined {
    return this.#partitions.get(pk)?.get(sk)
  }

  partitions(): IterableIterator<string> {
    return this.#partitions.keys()
  }

  /** The rows of a segment. */
  chunks(pk: string): readonly ChunkRow[] {
    return [...(this.#partitions.get(pk)?.values() ?? [])].map((row) => this.#chunk(row))
  }

  #chunk(row: Item): ChunkRow {
    return getOrMake(this.#chunks, row, () => {
      const { from, to, recalled } = parseChunkSortKey(row.sk as string)
      const its = { from, to, recalled }
      if (row.b === undefined) {
        return { ...its, entries: this.unpacked(row.d as Uint8Array), reference: undefined }
      }
      const reference = { entry: row.b as string, index: row.i as number }
      return { ...its, entries: undefined, reference }
    })
  }

  unpacked(packed: Uint8Array): readonly string[] {
    return getOrMake(this.#unpacked, packed, () => unpack(packed))
  }
}

type Part = { readonly queue: string; readonly reference: BatchReference; readonly part: number }

/** The entries of a batch as the store holds them now; undefined where a part is not there. */
export function batchPart(model: Model, its: Part): readonly string[] | undefined {
  const { reference, part } = its
  const bytes = bytesOf(model, its)
  if (bytes === undefined || reference.storage !== 's3') return bytes && model.rows.unpacked(bytes)
  let from = 0
  for (let i = 0; i < part; i += 1) from += reference.partBytes[i] as number
  return unpack(bytes.subarray(from, from + (reference.partBytes[part] as number)))
}

export const hasBatchPart = (model: Model, part: Part): boolean =>
  bytesOf(model, part) !== undefined

/** Of its row, or of the whole object in S3. */
function bytesOf({ rows, world }: Model, { queue, reference, part }: Part): Uint8Array | undefined {
  const { storage, batch } = reference
  if (storage === 's3') return world.store.objects.bytes(batchObjectKey(queue, batch))
  const { pk, sk } = batchPartKey(queue, batch, part)
  return rows.row(pk, sk)?.d as Uint8Array | undefined
}

export function batchEntries(model: Model, queue: string, entry: string): string[] | undefined {
  const reference = decodeReference(entry)
  const entries: string[] = []
  const parts = Math.ceil(reference.count / reference.partItems)
  for (let part = 0; part < parts; part += 1) {
    const some = batchPart(model, { queue, reference, part })
    if (some === undefined) return undefined
    entries.push(...some)
  }
  return entries.length === reference.count ? entries : undefined
}
