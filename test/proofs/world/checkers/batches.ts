import { type BatchReference, decodeReference } from '../../../../lambdas/engine/core/entry.ts'
import { batchObjectKey, batchPartKey } from '../../../../lambdas/engine/core/keys.ts'
import { unpack } from '../../../../lambdas/engine/store/codec.ts'
import type { Model } from './model.ts'

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
