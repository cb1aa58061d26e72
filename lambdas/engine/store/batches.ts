import type { Dynamo } from '../../foundation/dynamo.ts'
import { QueueError } from '../../foundation/errors.ts'
import type { Objects } from '../../foundation/objects.ts'
import { type BatchReference, encodeReference } from '../core/entry.ts'
import { batchObjectKey, batchPartKey } from '../core/keys.ts'
import { BATCH_PART_ITEMS, BATCH_TO_S3_BYTES, ROW_BYTES_MAX } from '../core/limits.ts'
import { pack } from './codec.ts'

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
