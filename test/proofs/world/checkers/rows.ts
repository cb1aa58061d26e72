import { type BatchReference, decodeReference } from '../../../../lambdas/engine/core/entry.ts'
import {
  batchObjectKey,
  batchPartKey,
  parseChunkSortKey,
} from '../../../../lambdas/engine/core/keys.ts'
import { unpack } from '../../../../lambdas/engine/store/codec.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Item } from '../../../../testing/simulated/dynamodb/value.ts'
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
    let partition = this.#partitions.get(pk)
    if (newItem === undefined) {
      partition?.delete(sk)
      if (partition?.size === 0) this.#partitions.delete(pk)
      return
    }
    if (partition === undefined) {
      partition = new Map()
      this.#partitions.set(pk, partition)
    }
    partition.set(sk, newItem)
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

  chunk(row: Item): ChunkRow {
    const known = this.#chunks.get(row)
    if (known !== undefined) return known
    const { from, to, recalled } = parseChunkSortKey(row.sk as string)
    const reference = row.b as string | undefined
    const chunk: ChunkRow = {
      from,
      to,
      recalled,
      entries: reference === undefined ? this.unpacked(row.d as Uint8Array) : undefined,
      reference: reference === undefined ? undefined : { entry: reference, index: row.i as number },
    }
    this.#chunks.set(row, chunk)
    return chunk
  }

  unpacked(packed: Uint8Array): readonly string[] {
    let entries = this.#unpacked.get(packed)
    if (entries === undefined) {
      entries = unpack(packed)
      this.#unpacked.set(packed, entries)
    }
    return entries
  }
}

/** The entries of a batch as the store holds them now; undefined where a part is not there. */
export function batchPart(
  { rows, world }: Model,
  queue: string,
  reference: BatchReference,
  part: number,
): readonly string[] | undefined {
  if (reference.storage === 's3') {
    const bytes = world.store.objects.bytes(batchObjectKey(queue, reference.batch))
    if (bytes === undefined) return undefined
    let from = 0
    for (let i = 0; i < part; i += 1) from += reference.partBytes[i] as number
    return unpack(bytes.subarray(from, from + (reference.partBytes[part] as number)))
  }
  const { pk, sk } = batchPartKey(queue, reference.batch, part)
  const row = rows.row(pk, sk)
  return row && rows.unpacked(row.d as Uint8Array)
}

export function hasBatchPart(
  { rows, world }: Model,
  queue: string,
  reference: BatchReference,
  part: number,
): boolean {
  if (reference.storage === 's3') {
    return world.store.objects.bytes(batchObjectKey(queue, reference.batch)) !== undefined
  }
  const { pk, sk } = batchPartKey(queue, reference.batch, part)
  return rows.row(pk, sk) !== undefined
}

/** All items that a reference makes part of a queue. */
export function batchEntries(
  model: Model,
  queue: string,
  entry: string,
): readonly string[] | undefined {
  const reference = decodeReference(entry)
  const entries: string[] = []
  const parts = Math.ceil(reference.count / reference.partItems)
  for (let part = 0; part < parts; part += 1) {
    const some = batchPart(model, queue, reference, part)
    if (some === undefined) return undefined
    entries.push(...some)
  }
  return entries.length === reference.count ? entries : undefined
}
