import { randomText } from '../../../foundation/random-text.ts'
import { decodeItem, encodeItem, isReference, tagOf } from '../../core/entry.ts'
import { recordKey, scheduledSortKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import {
  encodeScheduled,
  joinedSecond,
  parseScheduledId,
  type ScheduledEntry,
  scheduledId,
} from '../../core/scheduled.ts'
import { type Found, type Removal, removalOf } from '../../core/take-scheduled.ts'
import { partitionOf, storedRow } from '../../store/scheduled-rows.ts'
import { lowerTimer, takeUpdate } from '../../store/scheduled-updates.ts'
import { busy, type Engine, outcomeUnknown, pause, readRecord, seen } from '../attempts/engine.ts'
import { dropBatches } from './drop-rows.ts'
import { entriesAt } from './entries-to-join.ts'
import { findScheduled } from './find-scheduled.ts'

/** Where items go that are taken out of what is scheduled, and stay in it. */
export type NewPlace = {
  readonly dueMs?: number | undefined
  readonly priority?: number | undefined
}

/** Lost to others that seal, join or cancel. */
const ATTEMPTS_MAX = 24
/** Ids of one write: each may be in a row of its own and come to another, and a transaction takes 100. */
const IDS_PER_WRITE = 45

/**
 * Takes scheduled items out, and puts them elsewhere if there is a place. Answers the ids of those that it took, and
 * their new ones. A join and this exclude each other for an item, because both pass while nothing has been taken out
 * of what is scheduled since they looked.
 */
export async function takeScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place?: NewPlace,
): Promise<Map<string, string>> {
  const taken = new Map<string, string>()
  const all = [...new Set(ids)]
  for (let at = 0; at < all.length; at += IDS_PER_WRITE) {
    const some = await takeSome(engine, queue, all.slice(at, at + IDS_PER_WRITE), place)
    for (const [id, newId] of some) taken.set(id, newId)
  }
  return taken
}

async function takeSome(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place: NewPlace | undefined,
): Promise<ReadonlyMap<string, string>> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await readRecord(engine, queue)
    if (record === undefined) return new Map()
    const removal = removalOf(record.scheduled, await findAll(engine, record, ids))
    if (removal.items.length === 0) return new Map()
    const placed = place && (await placedAnew(engine, record, removal, place))
    const isWhole = placed === undefined || placed.length === removal.items.length
    if (isWhole && (await write(engine, record, removal, placed ?? []))) {
      await dropBatches(engine, queue, removal.spent)
      const newIds = placed?.map((entry) => scheduledId(entry)) ?? []
      return new Map(removal.items.map(({ id }, index) => [id, newIds[index] ?? id]))
    }
    await pause(engine, attempt)
  }
  throw busy(queue)
}

async function findAll(
  engine: Engine,
  record: QueueRecord,
  ids: readonly string[],
): Promise<Found[]> {
  const found = await Promise.all(
    ids.map(async (id) => {
      const wanted = parseScheduledId(id)
      const place = wanted && (await findScheduled(engine, record, wanted))
      return wanted && place && { id, wanted, place }
    }),
  )
  return found.filter((one) => one !== undefined)
}

/** The same items as entries of their own; fewer, where a batch is gone meanwhile. */
async function placedAnew(
  engine: Engine,
  { queue, scheduled }: QueueRecord,
  { items }: Removal,
  { dueMs, priority }: NewPlace,
): Promise<ScheduledEntry[]> {
  const placed: ScheduledEntry[] = []
  // What is due in the second of the last row that joined would count as joined.
  const earliest = joinedSecond(scheduled) + 1
  for (const { entry, index } of items) {
    const [stored] = isReference(entry.entry)
      ? ((await entriesAt(engine, queue, entry.entry, [index ?? 0])) ?? [])
      : [entry.entry]
    if (stored === undefined) continue
    const { dueMs: _, scheduledId: __, ...item } = decodeItem(stored)
    placed.push({
      due: Math.max(dueMs === undefined ? entry.due : Math.ceil(dueMs / 1_000), earliest),
      seals: scheduled.seals,
      random: randomText(engine.random, 8),
      priority: priority ?? entry.priority,
      gone: [],
      entry: encodeItem(item, tagOf(stored)),
    })
  }
  return placed
}

/** The new rows are as those of a seal: under a key that no other write can have. */
async function write(
  engine: Engine,
  record: QueueRecord,
  { taken, rows }: Removal,
  placed: readonly ScheduledEntry[],
): Promise<boolean> {
  const { queue, scheduled } = record
  const { tableName: TableName } = engine.dynamo
  const partition = partitionOf(record)
  const seals = scheduled.seals + 1
  const newRows = [...Map.groupBy(placed, ({ due }) => due)].map(([due, entries]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    seals,
    entries: entries.map(encodeScheduled),
  }))
  const dues = newRows.map(({ due }) => due)
  if (taken.nextDue !== undefined) dues.push(taken.nextDue)
  const nextDue = dues.length === 0 ? undefined : Math.min(...dues)
  const items = taken.items - placed.length
  const update = takeUpdate(record, { ...taken, items, nextDue }, (one) => {
    if (nextDue === undefined || newRows.length === 0) return
    one.set('tg', seals)
    lowerTimer(one, record, 1_000 * nextDue, { nowMs: engine.clock.nowMs() })
  })
  if (rows.length + newRows.length === 0) {
    const written = await engine.dynamo.update(recordKey(queue), update)
    if (written.kind === 'unknown') throw outcomeUnknown(queue, written.cause)
    seen(engine, queue, written.row)
    return written.kind === 'done'
  }
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName, Key: recordKey(queue), ...update } },
      // One that is empty stays until its second: then it joins, with nothing in it.
      ...[...rows, ...newRows].map((row) => ({
        Put: { TableName, Item: storedRow(partition, row) },
      })),
    ],
  })
  if (transacted.kind === 'unknown') throw outcomeUnknown(queue, transacted.cause)
  engine.memory.delete(queue)
  return transacted.kind === 'done'
}
