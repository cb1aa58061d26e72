// Items as the entries of an append. Where they would swell the record, we write them into batches first, and the
// append brings references. If the append was certainly refused, nothing can ever refer to its batches, and we delete
// them; while its fate is open they stay. A batch that stays for nothing is a stray, and does no harm.

import { QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { type Append, appendOf } from '../core/append.ts'
import { newItem, type PushItem } from '../core/check-requests.ts'
import {
  decodeItem,
  decodeReference,
  encodeItem,
  entryBytes,
  isReference,
  isTimed,
  REFERENCE_BYTES,
  tagOf,
} from '../core/item.ts'
import {
  decodeScheduled,
  encodeScheduled,
  type Later,
  type LaterSeed,
  laterIds,
  type PlannedEntry,
  planLater,
  scheduledBytes,
  scheduledId,
} from '../core/later.ts'
import { INLINE_BYTES_MAX } from '../core/limits.ts'
import type { JoiningEntry } from '../core/plan-join.ts'
import { EPOCH_CHARACTERS, type Lane, newLane, type QueueRecord } from '../core/record.ts'
import { type Configuration, defaultConfiguration } from '../core/settings.ts'
import type { Engine } from '../driver/engine.ts'
import {
  BATCHES_AT_ONCE,
  BatchParts,
  deleteBatch,
  partsIn,
  writeBatch,
} from '../requests/batches.ts'

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
    const { priority = 0 } = item
    const entry = encodeItem(newItem(item, nowMs), randomText(engine.random, 4))
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
  const large = [...lanes].filter(([, entries]) => bytesOf(entries) > REFERENCE_BYTES)
  for (let at = 0; at < large.length; at += BATCHES_AT_ONCE) {
    await Promise.all(
      large.slice(at, at + BATCHES_AT_ONCE).map(async ([priority, entries]) => {
        referenced.set(priority, [await writeBatch(engine, queue, entries)])
      }),
    )
  }
  const timed = [...lanes.values()].some((entries) => entries.some(isTimed))
  return appendOf(referenced, { timed })
}

const bytesOf = (entries: readonly string[]): number =>
  entries.reduce((sum, entry) => sum + entryBytes(entry), 0)

/** One of the pushes that an append brings. */
type LaterPush = {
  readonly items: readonly PushItem[]
  /** The hash of the key, or of the push if it has no key. */
  readonly keyHash: string
}

type PreparedLater = {
  readonly later: Later | undefined
  /** For each push, the ids of its delayed items by their index. */
  readonly ids: readonly ReadonlyMap<number, string>[]
}

/** The scheduled entries of the delayed items among these. It writes batches first if the items are large. */
export async function prepareLater(
  engine: Engine,
  queue: string,
  pushes: readonly LaterPush[],
  seed: LaterSeed,
): Promise<PreparedLater> {
  const planned = pushes.map(({ items, keyHash }) => planLater(items, seed, keyHash))
  const ids = planned.map((entries) => laterIds(entries, seed.seals))
  const all = planned.flatMap((entries, push) =>
    entries.map((entry) => ({ entry, items: pushes[push]?.items ?? [], ids: ids[push] })),
  )
  if (all.length === 0) return { later: undefined, ids }
  const entries: string[] = []
  for (let at = 0; at < all.length; at += BATCHES_AT_ONCE) {
    const some = all.slice(at, at + BATCHES_AT_ONCE)
    const encoded = some.map(async (one) =>
      encodeScheduled({
        due: one.entry.due,
        seals: seed.seals,
        random: one.entry.random,
        priority: one.entry.priority,
        gone: [],
        entry: await laneEntry(engine, queue, one.entry, one, seed),
      }),
    )
    entries.push(...(await Promise.all(encoded)))
  }
  return {
    later: laterOf(
      entries,
      all.map(({ entry }) => entry),
      seed,
    ),
    ids,
  }
}

function laterOf(
  entries: readonly string[],
  planned: readonly PlannedEntry[],
  { seals }: LaterSeed,
): Later {
  let bytes = 0
  for (const entry of entries) bytes += scheduledBytes(entry)
  const items = planned.reduce((sum, entry) => sum + entry.items.length, 0)
  const dueMs = 1_000 * Math.min(...planned.map(({ due }) => due))
  return { entries, items, bytes, dueMs, seals }
}

async function laneEntry(
  engine: Engine,
  queue: string,
  { due, items: places, byReference }: PlannedEntry,
  of: {
    readonly items: readonly PushItem[]
    readonly ids: ReadonlyMap<number, string> | undefined
  },
  { pushedAtMs }: LaterSeed,
): Promise<string> {
  const encoded = places.map((place) => {
    const item = of.items[place] as PushItem
    const tag = randomText(engine.random, 4)
    // A join does not rewrite a batch, so its items need their times now. Other items get theirs from the entry then.
    const times = byReference ? { dueMs: 1_000 * due, scheduledId: of.ids?.get(place) } : {}
    return encodeItem({ ...newItem(item, pushedAtMs), ...times }, tag)
  })
  if (!byReference) return encoded[0] as string
  return writeBatch(engine, queue, encoded)
}

export type ToJoin = {
  readonly addition: Append
  /** References to batches that we wrote for this join, and that are in no record yet. */
  readonly written: readonly string[]
  /** References whose items are elsewhere after the join. */
  readonly spent: readonly string[]
}

/** The entries that the lanes get; undefined if a batch is gone. */
export async function entriesToJoin(
  engine: Engine,
  queue: string,
  joining: readonly JoiningEntry[],
): Promise<ToJoin | undefined> {
  const lanes = new Map<number, string[]>()
  const spent: string[] = []
  for (const one of joining) {
    const entries = await laneEntries(engine, queue, one)
    if (entries === undefined) return undefined
    if (one.indexes !== undefined && one.isLast) spent.push(one.entry)
    lanes.set(one.lane, [...(lanes.get(one.lane) ?? []), ...entries])
  }
  const written: string[] = []
  const isSmall =
    bytesOf([...lanes.values()].flat().filter((entry) => !isReference(entry))) <= INLINE_BYTES_MAX
  if (!isSmall) {
    const all = [...lanes]
    for (let at = 0; at < all.length; at += BATCHES_AT_ONCE) {
      const ends = await Promise.allSettled(
        all.slice(at, at + BATCHES_AT_ONCE).map(async ([priority, entries]) => {
          lanes.set(priority, await joinByReference(engine, queue, entries, written))
        }),
      )
      const failed = ends.find((end) => end.status === 'rejected')
      if (failed === undefined) continue
      await dropBatches(engine, queue, written)
      throw failed.reason
    }
  }
  return { addition: { ...appendOf(lanes), timed: true }, written, spent }
}

async function laneEntries(
  engine: Engine,
  queue: string,
  one: JoiningEntry,
): Promise<readonly string[] | undefined> {
  const { due, entry, indexes } = one
  if (!isReference(entry)) {
    const times = { dueMs: 1_000 * due, scheduledId: scheduledId(one) }
    return [encodeItem({ ...decodeItem(entry), ...times }, tagOf(entry))]
  }
  if (indexes === undefined) return [entry]
  return entriesAt(engine, queue, entry, indexes)
}

/** Some items of a batch. */
export async function entriesAt(
  engine: Engine,
  queue: string,
  entry: string,
  indexes: readonly number[],
): Promise<string[] | undefined> {
  const batches = new BatchParts(engine, engine.segments)
  const reference = decodeReference(entry)
  const wanted = new Set(indexes.map((index) => Math.floor(index / reference.partItems)))
  const parts = new Map<number, readonly string[]>()
  for (let part = 0; part < partsIn(reference); part += 1) {
    if (!wanted.has(part)) continue
    const read = await batches.read(queue, reference, part)
    if (read === undefined) return undefined
    parts.set(part, read)
  }
  return indexes.map((index) => {
    const part = parts.get(Math.floor(index / reference.partItems)) as readonly string[]
    return part[index % reference.partItems] as string
  })
}

/** Puts each run of items between references into its own batch, where that is smaller. */
async function joinByReference(
  engine: Engine,
  queue: string,
  entries: readonly string[],
  written: string[],
): Promise<string[]> {
  const result: string[] = []
  let run: string[] = []
  const end = async (): Promise<void> => {
    if (bytesOf(run) > REFERENCE_BYTES) {
      const reference = await writeBatch(engine, queue, run)
      written.push(reference)
      result.push(reference)
    } else result.push(...run)
    run = []
  }
  for (const entry of entries) {
    if (!isReference(entry)) {
      run.push(entry)
      continue
    }
    await end()
    result.push(entry)
  }
  await end()
  return result
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

/**
 * Whatever comes of a write that brings batches: if it was certainly refused, no reference to them can ever appear, and
 * we delete them.
 */
export async function bringing<T>(
  engine: Engine,
  queue: string,
  addition: Append | undefined,
  writing: Promise<T>,
): Promise<T> {
  try {
    return await writing
  } catch (error) {
    const isOpen = !(error instanceof QueueError) || error.outcome === 'unknown'
    if (!isOpen && addition !== undefined) await discardBatches(engine, queue, addition)
    throw error
  }
}

export async function discardBatches(
  engine: Engine,
  queue: string,
  addition: Append,
): Promise<void> {
  const later = addition.later?.entries.map((entry) => decodeScheduled(entry).entry) ?? []
  await dropBatches(engine, queue, [...addition.lanes.values(), later].flat().filter(isReference))
}

/** A refused push to many lanes waits for this before its caller hears of it. */
const DROPPED_AT_ONCE = 16

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
  // The time of the call may be up, and nobody else knows of the batch.
  const stores = { dynamo: engine.dynamo.cleaningUp(), objects: engine.objects.cleaningUp() }
  await deleteBatch(stores, queue, decodeReference(entry)).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'discard-batch' })
  })
}
