// Where items become scheduled by a move: waiting ones that are put off, and scheduled ones that change their place.
// The write puts them into new rows, each of one second, whose keys no other write can use, because it takes the next
// number of a seal; entries of the record's list that are due in the same second go along, so their order stays. If a
// join, a seal or a cancel comes in between, the scheduled items have changed, and the write fails. Then the batches
// that we have stored serve the next try, as long as their ids still lead to them.

import type { Row } from '../../aws/dynamo.ts'
import type { Expression } from '../../aws/table.ts'
import { QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { appendOf } from '../core/append.ts'
import type { Guards } from '../core/fence.ts'
import { decodeItem, encodeItem, entryBytes, type Item, isReference, tagOf } from '../core/item.ts'
import { recordKey, scheduledSortKey } from '../core/keys.ts'
import {
  dueOf,
  encodeScheduled,
  type ScheduledEntry,
  scheduledBytes,
  scheduledId,
} from '../core/later.ts'
import { INLINE_BYTES_MAX, SEALS_BEHIND_MAX } from '../core/limits.ts'
import { itemFor, itemPutOff, type Removal } from '../core/moved-items.ts'
import type { NamedItem } from '../core/named-items.ts'
import { mustSealBefore, placesAlong } from '../core/plan-seal.ts'
import type { QueueRecord } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import { BATCHES_AT_ONCE, writeBatch } from '../requests/batches.ts'
import {
  lowerTimer,
  partitionOf,
  storedRow,
  takeUpdate,
  unseenStill,
} from '../requests/later-rows.ts'
import { sealLater } from '../storing/copy-later.ts'
import { ensureLane } from '../storing/make-lanes.ts'
import { bringing, discardBatches, entriesAt } from '../storing/write-entries.ts'

/** Where a move puts scheduled items, which stay scheduled. */
export type NewPlace = {
  readonly dueMs?: number | undefined
  readonly priority?: number | undefined
  readonly queue?: string | undefined
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

/** If others take out or seal scheduled items this often, the queue is busy, and the caller should know soon. */
const TRIES_MAX = 8

/**
 * Makes waiting items scheduled, here or in another queue, in their order. One transaction takes them out of their
 * lanes and puts the row from which they will join, so each is in one place at any time.
 */
export async function putOff(engine: Engine, moving: Moving, dueMs: number): Promise<Moved> {
  const { record, to, priority, items } = moving
  const due = Math.ceil(dueMs / 1_000)
  const target = await readTarget(engine, record, { queue: to, priority })
  if (mustSealBefore(target, due)) {
    await sealLater(engine, target)
    return { kind: 'blocked' }
  }
  const placing = await placeIn(engine, target, comingFrom(engine, moving, due))
  const batches = appendOf(new Map([[0, placing.entries.map(({ entry }) => entry)]]))
  const put = await bringing(engine, to, batches, putPlaced(engine, moving, placing))
  engine.records.forget(to)
  if (put.kind === 'committed') {
    const ids = items.map(({ id }, at) => [id, placing.ids[at]] as const)
    return { kind: 'moved', ids, after: put.after }
  }
  await discardBatches(engine, to, batches)
  return put
}

type Put = { readonly kind: 'committed'; readonly after: QueueRecord | undefined } | NotMoved

/** In a busy queue, another write may come first. The batches stay valid for the next tries. */
async function putPlaced(engine: Engine, moving: Moving, placing: Placing): Promise<Put> {
  const { record, to: queue, priority } = moving
  let placed: Placing | undefined = placing
  for (let tries = 1; tries <= TRIES_MAX && placed !== undefined; tries += 1) {
    const { change, beside } = writeOf(engine, moving, placed)
    const committed = await engine.records.commitBeside(change, beside)
    if (committed.kind === 'lost') return committed
    if (committed.kind === 'committed') return { kind: 'committed', after: committed.record }
    await engine.records.pause(tries)
    const target = await readTarget(engine, record, { queue, priority })
    placed = await placedStill(engine, placing, target)
  }
  if (placed !== undefined) throw QueueError.busy(queue)
  return { kind: 'lost', current: await engine.records.read(record.queue) }
}

function comingFrom(engine: Engine, moving: Moving, due: number): Coming[] {
  const { record, to, priority, items, texts, options } = moving
  // An item that comes back from the dead letters counts as new anyway, from when it is due.
  const times = { nowMs: options.nowMs, redriven: {} }
  return items.map((named, at) => ({
    due,
    priority: priority ?? named.priority,
    item: itemPutOff(to, record, named, texts[at] as string, times),
    tag: randomText(engine.random, 4),
  }))
}

function writeOf(engine: Engine, { record, draft, options }: Moving, placing: Placing) {
  const { tableName: TableName } = engine.dynamo
  const placement = placementOf(engine, placing)
  const puts = placement.rows.map((Item) => ({ Put: { TableName, Item } }))
  if (placing.target !== record) {
    const target = { TableName, ...targetOf(placing, placement) }
    return {
      change: engine.records.change(record, draft, options),
      beside: [{ Update: target }, ...puts],
    }
  }
  const after = withScheduled(draft, placement)
  const scheduling = { ...options, scheduledMs: placement.dueMs }
  return { change: engine.records.change(record, after, scheduling), beside: puts }
}

function withScheduled(draft: QueueRecord, placement: Placement): QueueRecord {
  const { items, places, bytes, seals, nextDue, unseen } = placement
  const { scheduled } = draft
  const changed = {
    entries: scheduled.entries.filter((_, place) => !places.includes(place)),
    bytes: scheduled.bytes - bytes,
    items: scheduled.items + items,
    changes: scheduled.changes + 1,
    seals,
    nextDue,
    unseen,
  }
  return { ...draft, timed: true, scheduled: { ...scheduled, ...changed } }
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
  const there = await engine.records.read(queue)
  if (there !== undefined) return there
  engine.records.forget(queue)
  await ensureLane(engine, queue, priority)
  const made = await engine.records.read(queue)
  if (made === undefined) throw QueueError.busy(queue)
  return made
}

/** An item on its way to the target. */
type Coming = {
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
    const death = { nowMs: engine.clock.nowMs(), deliveries: 0 }
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
async function placeIn(
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
 * If the items of one priority take no more than this, they stay in their row even if others are large. A reference
 * takes 48 bytes, so a batch of so few would save the row less than 80. With such items of 45 priorities, as many as
 * one write takes, a row has 6 KB.
 */
const TINY_BYTES = 128

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
    const entry = inBatch ? await writeBatch(engine, queue, encoded) : (encoded[0] as string)
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
async function placedStill(
  engine: Engine,
  placing: Placing,
  target: QueueRecord,
): Promise<Placing | undefined> {
  const { born, scheduled } = placing.target
  const isFar = target.scheduled.seals > scheduled.seals + SEALS_BEHIND_MAX
  const [{ due }] = placing.entries as [ScheduledEntry]
  if (target.born !== born || isFar || mustSealBefore(target, due)) return undefined
  return { ...placing, target, unseen: await unseenStill(engine.dynamo, target) }
}

type Placement = {
  readonly rows: readonly Row[]
  readonly items: number
  /** Places in the target's list of entries that go along into the rows, and how many bytes the list loses. */
  readonly places: readonly number[]
  readonly bytes: number
  readonly seals: number
  /** When the first item is due. */
  readonly dueMs: number
  readonly nextDue: number
  readonly unseen: readonly string[]
  readonly beside: (update: Expression) => void
}

/** What the same write leaves in the target's list, if it takes items out of it, and when the timer must end for that. */
type Own = {
  readonly left?: readonly (string | undefined)[]
  readonly dueMs?: number | undefined
}

/** The new rows are like those of a seal: no other write can use their keys. */
export function placementOf(
  engine: Engine,
  { target, entries, ids, unseen }: Placing,
  { left = target.scheduled.entries, dueMs }: Own = {},
): Placement {
  const { scheduled } = target
  const seals = scheduled.seals + 1
  const seconds = Map.groupBy(entries, ({ due }) => due)
  const places = placesAlong(scheduled, left, new Set(seconds.keys()))
  const along = places.map((place) => left[place] as string)
  const rows = [...seconds].map(([due, some]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    entries: [...along.filter((entry) => dueOf(entry) === due), ...some.map(encodeScheduled)],
  }))
  const earliest = Math.min(...rows.map(({ due }) => due))
  return {
    rows: rows.map((row) => storedRow(partitionOf(target), row)),
    items: ids.length,
    places,
    bytes: along.reduce((sum, entry) => sum + scheduledBytes(entry), 0),
    seals,
    dueMs: 1_000 * earliest,
    nextDue: Math.min(earliest, scheduled.nextDue ?? earliest),
    unseen: [...unseen, ...rows.map(({ sk }) => sk)],
    beside(update) {
      update.set('tg', seals)
      const atMs = Math.min(1_000 * earliest, dueMs ?? Number.POSITIVE_INFINITY)
      lowerTimer(update, target, atMs, { nowMs: engine.clock.nowMs() })
    },
  }
}

/** The other queue's part of the write. It counts as an append, so that no process forgets the queue meanwhile. */
export function targetOf({ target }: Placing, placement: Placement) {
  const { items, places, bytes, nextDue, unseen, beside } = placement
  const taken = { places, items: -items, bytes, nextDue, unseen }
  return {
    Key: recordKey(target.queue),
    ...takeUpdate(target, taken, (update) => {
      beside(update)
      update.set('tm', 'y')
      update.add('a', 1)
    }),
  }
}

/** What the record loses if the items stay in their queue. */
export const withAlong = (
  taken: Removal['taken'],
  { items, places, bytes, nextDue }: Placement,
) => ({
  places: [...taken.places, ...places],
  changed: new Map([...taken.changed].filter(([place]) => !places.includes(place))),
  items: taken.items - items,
  bytes: taken.bytes + bytes,
  nextDue,
})
