import { QueueError } from '../../../foundation/errors.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { type Append, appendOf } from '../../core/append.ts'
import type { Configuration } from '../../core/configuration.ts'
import { defaultConfiguration } from '../../core/configuration.ts'
import { decodeReference, encodeItem, entryBytes, isReference, isTimed } from '../../core/entry.ts'
import { expiresAtMsOf } from '../../core/item-expiry.ts'
import { INLINE_BYTES_MAX } from '../../core/limits.ts'
import type { PushItem } from '../../core/push-request.ts'
import type { Lane, QueueRecord } from '../../core/record.ts'
import { EPOCH_CHARACTERS, newLane } from '../../core/record.ts'
import { decodeScheduled } from '../../core/scheduled.ts'
import { deleteBatchParts, partsIn, writeBatch } from '../../store/batches.ts'
import type { Engine } from '../attempts/engine.ts'

// Turns a push's items into the entries that it appends to the record, and cleans up if the push is refused.

/** About what a reference adds to the tail; a smaller group of items stays as it is. */
const REFERENCE_BYTES = 48
/** Batches written at a time, so that a push to many lanes is quick and does not flood the table. */
const BATCHES_AT_ONCE = 8
/** A refused push to many lanes waits for this before its caller hears of it. */
const DROPPED_AT_ONCE = 16

export type Prepared = {
  readonly addition: Append
  readonly pushedAtMs: number
}

/** The entries of a push, by lane. Items that would swell the record go into batches first. */
export async function prepare(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  nowMs: number = engine.clock.nowMs(),
): Promise<Prepared> {
  const lanes = new Map<number, string[]>()
  for (const item of items) {
    const { text, priority = 0 } = item
    const expiresAtMs = expiresAtMsOf(item, nowMs)
    const entry = encodeItem({ text, pushedAtMs: nowMs, expiresAtMs }, randomText(engine.random, 4))
    const entries = lanes.get(priority)
    if (entries === undefined) lanes.set(priority, [entry])
    else entries.push(entry)
  }
  const inline = appendOf(lanes)
  const small = inline.bytes <= INLINE_BYTES_MAX
  return {
    addition: small ? inline : await byReference(engine, queue, lanes),
    pushedAtMs: nowMs,
  }
}

/** The lanes' entries, each lane's in a batch of its own where that makes the record smaller. */
export async function byReference(
  engine: Engine,
  queue: string,
  lanes: ReadonlyMap<number, readonly string[]>,
): Promise<Append> {
  const referenced = new Map(lanes)
  const large = [...lanes].filter(
    ([, entries]) => entries.reduce((sum, entry) => sum + entryBytes(entry), 0) > REFERENCE_BYTES,
  )
  for (let at = 0; at < large.length; at += BATCHES_AT_ONCE) {
    await Promise.all(
      large.slice(at, at + BATCHES_AT_ONCE).map(async ([priority, entries]) => {
        const batch = randomText(engine.random, 8)
        referenced.set(priority, [await writeBatch(engine, queue, batch, entries)])
      }),
    )
  }
  const timed = [...lanes.values()].some((entries) => entries.some(isTimed))
  return appendOf(referenced, { timed })
}

/** Deletes the batches of a push that was certainly refused: no reference to them can ever appear. */
export async function discardUnlessOpen(
  engine: Engine,
  queue: string,
  addition: Append,
  error: unknown,
): Promise<void> {
  if (!(error instanceof QueueError) || error.outcome === 'unknown') return
  await discardBatches(engine, queue, addition)
}

export async function discardBatches(
  engine: Engine,
  queue: string,
  addition: Append,
): Promise<void> {
  const later = addition.later?.entries.map((entry) => decodeScheduled(entry).entry) ?? []
  await dropBatches(engine, queue, [...addition.lanes.values(), later].flat().filter(isReference))
}

/** Deletes batches that nothing refers to any more. What cannot be deleted stays as a stray. */
export async function dropBatches(
  engine: Engine,
  queue: string,
  references: readonly string[],
): Promise<void> {
  for (let at = 0; at < references.length; at += DROPPED_AT_ONCE) {
    const some = references.slice(at, at + DROPPED_AT_ONCE)
    await Promise.all(some.map((entry) => dropBatch(engine, queue, entry)))
  }
}

async function dropBatch(engine: Engine, queue: string, entry: string): Promise<void> {
  const reference = decodeReference(entry)
  const parts = [...Array(partsIn(reference)).keys()]
  // The time of the call may be up, and nobody else knows of the batch.
  const stores = { dynamo: engine.dynamo.cleaningUp(), objects: engine.objects }
  await deleteBatchParts(stores, queue, reference, parts).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'discard-batch' })
  })
}

export function missingLanes(
  engine: Engine,
  addition: Append,
  record: QueueRecord | undefined,
  { segmentSize }: Configuration = record?.configuration ?? defaultConfiguration,
): Map<number, Lane> {
  const lanes = new Map<number, Lane>()
  for (const [priority, entries] of addition.lanes) {
    if (record?.lanes.has(priority)) continue
    const epoch = randomText(engine.random, EPOCH_CHARACTERS)
    lanes.set(priority, newLane({ priority, epoch, segmentSize }, entries))
  }
  return lanes
}
