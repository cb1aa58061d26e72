import { randomText } from '../../../foundation/random-text.ts'
import {
  decodeItem,
  encodeItem,
  entryBytes,
  type Item,
  isReference,
  tagOf,
} from '../../core/entry.ts'
import type { Guards } from '../../core/fence.ts'
import { INLINE_BYTES_MAX, SEALS_BEHIND_MAX } from '../../core/limits.ts'
import { itemFor } from '../../core/moving.ts'
import type { NamedItem } from '../../core/named.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type ScheduledEntry, scheduledId } from '../../core/scheduled.ts'
import type { Removal } from '../../core/take-scheduled.ts'
import { mustSealBefore } from '../../core/to-seal.ts'
import { writeBatch } from '../../store/batches.ts'
import { unseenStill } from '../../store/scheduled-rows.ts'
import { busy, type Engine, readRecord } from '../attempts/engine.ts'
import { ensureLane } from '../lanes/lanes.ts'
import { entriesAt } from './entries-to-join.ts'

/**
 * If the items of one priority take no more than this, they stay in their row even if others are large. A reference
 * takes 48 bytes, so a batch of so few would save the row less than 80. With such items of 45 priorities, as many as
 * one write takes, a row has 6 KB.
 */
const TINY_BYTES = 128
/** Batches written at a time, as for a push. */
const BATCHES_AT_ONCE = 8

/** Where a move puts scheduled items, which stay scheduled. */
export type NewPlace = {
  readonly dueMs?: number | undefined
  readonly priority?: number | undefined
  readonly queue?: string | undefined
}

/** What the items become there. */
export type Placing = {
  readonly target: QueueRecord
  readonly entries: readonly ScheduledEntry[]
  /** Their new ids, in the order of the items. */
  readonly ids: readonly string[]
  /** Rows of the target that cannot be read yet. */
  readonly unseen: readonly string[]
}

/** The record of the queue that the items go to; makes it if need be. */
export async function readTarget(
  engine: Engine,
  record: QueueRecord,
  { queue = record.queue, priority = 0 }: NewPlace,
): Promise<QueueRecord> {
  if (queue === record.queue) return record
  const there = await readRecord(engine, queue)
  if (there !== undefined) return there
  engine.memory.delete(queue)
  await ensureLane(engine, queue, priority)
  const made = await readRecord(engine, queue)
  if (made === undefined) throw busy(queue)
  return made
}

/** An item on its way to the target. */
export type Coming = {
  readonly due: number
  readonly priority: number
  readonly item: Item
  readonly tag: string
}

type Placed = Coming & {
  /** The item's index among those that come. */
  readonly at: number
}

/** The same items, each as a separate entry; undefined if a batch has gone meanwhile. */
export async function placedAnew(
  engine: Engine,
  record: QueueRecord,
  { items }: Removal,
  { dueMs, priority }: NewPlace,
  target: QueueRecord,
): Promise<Placing | undefined> {
  const coming: Coming[] = []
  for (const { entry, index } of items) {
    const [stored] = isReference(entry.entry)
      ? ((await entriesAt(engine, record.queue, entry.entry, [index ?? 0])) ?? [])
      : [entry.entry]
    if (stored === undefined) return undefined
    const death = { atMs: engine.clock.nowMs(), deliveries: 0 }
    coming.push({
      due: dueMs === undefined ? entry.due : Math.ceil(dueMs / 1_000),
      priority: priority ?? entry.priority,
      item: itemFor(target.queue, decodeItem(stored), death),
      tag: tagOf(stored),
    })
  }
  return placeIn(engine, target, coming)
}

/** The items as separate entries in the queue that they go to. */
export async function placeIn(
  engine: Engine,
  target: QueueRecord,
  coming: readonly Coming[],
): Promise<Placing> {
  const placed = coming.map(({ item, ...one }, at): Placed => {
    const { dueMs: _, scheduledId: __, ...kept } = item
    return { ...one, at, item: kept }
  })
  const unseen = await unseenStill(engine.dynamo, target)
  const entries: ScheduledEntry[] = []
  const ids: string[] = []
  for (const some of Map.groupBy(placed, ({ due }) => due).values()) {
    entries.push(...(await rowEntries(engine, target, some, ids)))
  }
  return { target, entries, ids, unseen }
}

/**
 * The entries of one new row. If they are large together, the items of each priority become a batch, because every
 * cancel, and every join of a part of a row, writes the rest of that row again. A few tiny items stay as they are: a
 * batch costs a write by itself.
 */
async function rowEntries(
  engine: Engine,
  { queue, scheduled: { seals } }: QueueRecord,
  placed: readonly Placed[],
  ids: string[],
): Promise<ScheduledEntry[]> {
  const bytes = bytesOf(placed)
  const isSmall = bytes <= INLINE_BYTES_MAX
  const groups = isSmall
    ? placed.map((one) => [one])
    : [...Map.groupBy(placed, ({ priority }) => priority).values()].flatMap((group) =>
        bytesOf(group) <= TINY_BYTES ? group.map((one) => [one]) : [group],
      )
  const entryOf = async (group: Placed[]): Promise<ScheduledEntry> => {
    const [{ due, priority }] = group as [Placed]
    const place = { due, seals, random: randomText(engine.random, 8), priority, gone: [] }
    const inBatch = !isSmall && bytesOf(group) > TINY_BYTES
    const encoded = group.map(({ at, item, tag }, index) => {
      const id = scheduledId({ ...place, index: inBatch ? index : undefined })
      ids[at] = id
      // Items in a batch carry their times; others get them when they join.
      return encodeItem(inBatch ? { ...item, dueMs: 1_000 * due, scheduledId: id } : item, tag)
    })
    const entry = inBatch
      ? await writeBatch(engine, queue, randomText(engine.random, 8), encoded)
      : (encoded[0] as string)
    return { ...place, entry }
  }
  const entries: ScheduledEntry[] = []
  for (let at = 0; at < groups.length; at += BATCHES_AT_ONCE) {
    entries.push(...(await Promise.all(groups.slice(at, at + BATCHES_AT_ONCE).map(entryOf))))
  }
  return entries
}

const bytesOf = (placed: readonly Placed[]): number =>
  placed.reduce((sum, { item, tag }) => sum + entryBytes(encodeItem(item, tag)), 0)

/**
 * The same entries, of one second, for a newer record of their queue; undefined if their ids would no longer lead to
 * them, or if a seal has to come first.
 */
export async function placedStill(
  engine: Engine,
  placing: Placing,
  target: QueueRecord,
): Promise<Placing | undefined> {
  const { born, scheduled } = placing.target
  const isFar = target.scheduled.seals > scheduled.seals + SEALS_BEHIND_MAX
  const [nowMs, [{ due }]] = [engine.clock.nowMs(), placing.entries as [ScheduledEntry]]
  if (target.born !== born || isFar || mustSealBefore(target, due, nowMs)) return undefined
  return { ...placing, target, unseen: await unseenStill(engine.dynamo, target) }
}

/** Waiting items that one write moves together. */
export type Moving = {
  readonly record: QueueRecord
  readonly items: readonly NamedItem[]
  /** Their entries as we read them. */
  readonly texts: readonly string[]
  /** The record without them. */
  readonly draft: QueueRecord
  readonly options: {
    readonly nowMs: number
    readonly guards: Guards
    readonly setsDry: boolean
  }
  readonly to: string
  /** The lane they all go to. Without it, each keeps its priority. */
  readonly priority: number | undefined
}

/** `blocked`: something at the other place was, or still is, in the way. `lost`: another writer was first. */
export type NotMoved =
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }
  | { readonly kind: 'blocked' }

export type Moved =
  | {
      readonly kind: 'moved'
      /** Old and new ids, in the order of pops. */
      readonly ids: readonly (readonly [string, string | undefined])[]
      /** Set only if we have read it. */
      readonly after: QueueRecord | undefined
    }
  | NotMoved
