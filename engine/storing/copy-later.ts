// Scheduled entries between the record and its rows. A seal copies all entries of the record to rows, one for each
// second, and takes them out, in one transaction, so every row counts. We find an entry without a scan: its id names
// its second and the seals that may have copied it. A purge leaves its rows to be deleted, and the record names it until
// they are gone.

import { type Append, findAppend } from '../core/append.ts'
import { isReference } from '../core/item.ts'
import { recordKey, scheduledSortKey } from '../core/keys.ts'
import {
  decodeScheduled,
  type EntryRow,
  type Later,
  purgedEra,
  type ScheduledId,
  scheduledBytes,
  unseenBeside,
} from '../core/later.ts'
import { SCHEDULED_SOFT_BYTES } from '../core/limits.ts'
import { type FoundRows, nextDueAfter, unseenAfter } from '../core/plan-join.ts'
import { placesToSeal, SEALS_OF_ID } from '../core/plan-seal.ts'
import type { QueueRecord } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import {
  forgetPurgedUpdate,
  lowerTimer,
  PURGED_SORT_KEY,
  partitionOf,
  rowOf,
  rowsOfSeals,
  rowsToSeal,
  scheduledRows,
  seenUpdate,
  storedRow,
  takeUpdate,
  timeLeft,
  unseenStill,
} from '../requests/later-rows.ts'
import { dropBatches } from './write-entries.ts'

/** After so many seals that lose to other writes, we leave it to the next push that crosses a line. */
const ROUNDS_MAX = 4
/** The record names each row of a transaction that hangs. With so many, further entries stay in the record. */
const UNSEEN_MAX = 100
/** So many row names may stay until the next seal reads the rows: at some ten bytes each, a write would cost more. */
const UNSEEN_LEFT = 3

/**
 * Copies the record's scheduled entries out to rows: all that it sees, so that an id leads to few rows. Returns the
 * record as far as we know it then.
 */
export async function sealLater(
  engine: Engine,
  first: QueueRecord,
): Promise<QueueRecord | undefined> {
  let record: QueueRecord | undefined = first
  for (let round = 1; round <= ROUNDS_MAX && record !== undefined; round += 1) {
    if (record.scheduled.entries.length === 0) return record
    const sealed = await sealOnce(engine, record)
    if (sealed !== undefined) return sealed
    record = await engine.records.read(record.queue)
  }
  return record
}

async function sealOnce(engine: Engine, record: QueueRecord): Promise<QueueRecord | undefined> {
  const { queue, scheduled } = record
  const places = placesToSeal(record)
  if (places.length === 0) return record
  const rows = rowsToSeal(record, places)
  const unseenBefore = await unseenStill(engine.dynamo, record)
  if (unseenBefore.length > UNSEEN_MAX) return record
  const unseen = [...unseenBefore, ...rows.map(({ sk }) => sk)]
  let bytes = 0
  for (const place of places) bytes += scheduledBytes(scheduled.entries[place] as string)
  const dues = rows.map(({ due }) => due)
  if (scheduled.nextDue !== undefined) dues.push(scheduled.nextDue)
  const taken = { places, items: 0, bytes, nextDue: Math.min(...dues), unseen }
  const update = takeUpdate(record, taken, (one) => one.set('tg', scheduled.seals + 1))
  const { tableName } = engine.dynamo
  const partition = partitionOf(record)
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName: tableName, Key: recordKey(queue), ...update } },
      ...rows.map((row) => ({ Put: { TableName: tableName, Item: storedRow(partition, row) } })),
    ],
  })
  if (transacted.kind !== 'done') return undefined
  // DynamoDB does not return what a transaction wrote, and others may have written too: so this is only an assumption.
  const after: QueueRecord = {
    ...record,
    scheduled: {
      ...scheduled,
      entries: scheduled.entries.filter((_, place) => !places.includes(place)),
      bytes: scheduled.bytes - bytes,
      seals: scheduled.seals + 1,
      changes: scheduled.changes + 1,
      nextDue: taken.nextDue,
      unseen,
    },
  }
  engine.records.remember(after)
  if (unseen.length <= UNSEEN_LEFT) return after
  // Once DynamoDB has answered, reads show the new rows.
  const written = await engine.records.update(queue, seenUpdate(after, unseenBefore))
  return written.kind === 'unknown' ? after : engine.records.seen(queue, written.row)
}

/** The push that carried the record's entries over a line seals them. Exactly one push crosses each line. */
export async function sealLaterAfter(
  engine: Engine,
  record: QueueRecord,
  later: Later | undefined,
): Promise<void> {
  if (later === undefined) return
  const { bytes } = record.scheduled
  const line = (at: number): number => Math.floor(at / SCHEDULED_SOFT_BYTES)
  if (line(bytes) > line(bytes - later.bytes)) await sealLaterQuietly(engine, record)
}

/** The append alone decides a push's answer. If the seal fails, the next one makes up for it. */
export async function sealLaterQuietly(engine: Engine, record: QueueRecord): Promise<void> {
  await sealLater(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal-scheduled' })
  })
}

/** Notes in the record that no row is due. */
export async function lookLater(
  engine: Engine,
  record: QueueRecord,
  found: FoundRows,
): Promise<QueueRecord | undefined> {
  const { queue, scheduled } = record
  const nextDue = nextDueAfter(scheduled, found, 0)
  const unseen = unseenAfter(scheduled, found)
  const nowMs = engine.clock.nowMs()
  const dueMs = timeLeft(record, scheduled.entries, nextDue, nowMs)
  const taken = { places: [], items: 0, bytes: 0, nextDue, unseen }
  const update = takeUpdate(record, taken, (one) => {
    if (dueMs !== undefined) lowerTimer(one, record, dueMs, { nowMs })
  })
  const written = await engine.records.update(queue, update)
  return engine.records.after(queue, written)
}

/** Where an entry is: a place in the record's list, or in that of a row. */
type ScheduledPlace = { readonly row?: EntryRow; readonly place: number }

/** `unseen`: the entry may be in a row that cannot be read yet. */
export async function findScheduled(
  engine: Engine,
  record: QueueRecord,
  wanted: ScheduledId,
): Promise<ScheduledPlace | 'unseen' | undefined> {
  const { scheduled } = record
  const place = placeIn(scheduled.entries, wanted)
  if (place !== -1) return { place }
  const last = Math.min(scheduled.seals, wanted.seals + SEALS_OF_ID)
  const partition = partitionOf(record)
  const rows = await rowsOfSeals(engine.dynamo, partition, wanted.due, [wanted.seals + 1, last])
  for (const row of rows) {
    const at = placeIn(row.entries, wanted)
    if (at !== -1) return { row, place: at }
  }
  const [from, to] = [wanted.seals + 1, last].map((seals) => scheduledSortKey(wanted.due, seals))
  const isUnseen = unseenBeside(scheduled.unseen, rows).some(
    (sk) => sk >= (from as string) && sk <= (to as string),
  )
  return isUnseen ? 'unseen' : undefined
}

const placeIn = (entries: readonly string[], { due, seals, random }: ScheduledId): number => {
  const start = `${due.toString(36)}.${seals.toString(36)}.${random}.`
  return entries.findIndex((entry) => entry.startsWith(start))
}

/**
 * Finds a push whose answer was lost. One update brings all of a push, so if one part of it is there, the rest is too.
 * If its items for later have joined already, it cannot be found.
 */
export async function findAppended(
  engine: Engine,
  addition: Append,
  record: QueueRecord,
): Promise<Map<number, number> | undefined> {
  const [first] = addition.later?.entries ?? []
  if (first === undefined || addition.lanes.size > 0) return findAppend(addition, record)
  const found = await findScheduled(engine, record, decodeScheduled(first))
  return found === undefined || found === 'unseen' ? undefined : new Map()
}

/**
 * Deletes the rows that purges left, those of the earliest purge first, until `untilMs`. The record names each purge
 * until its rows are gone, so the next process goes on where this one stops or dies. Returns whether all are gone.
 */
export async function dropPurged(
  engine: Engine,
  seenFirst: QueueRecord,
  untilMs: number,
): Promise<boolean> {
  const { queue, born } = seenFirst
  let record: QueueRecord | undefined = seenFirst
  for (;;) {
    const [mark] = record?.scheduled.purged ?? []
    if (record === undefined || record.born !== born || mark === undefined) return true
    if (!(await dropEra(engine, record, mark, untilMs))) return false
    const written = await engine.records.update(queue, forgetPurgedUpdate(record, mark))
    // We or another process may have removed it; go by what the record names now.
    record = await engine.records.after(queue, written)
    if (engine.clock.nowMs() >= untilMs) return (record?.scheduled.purged ?? []).length === 0
  }
}

/** Rows a query: as many as one request deletes. We check the time after each. */
const PAGE = 25

async function dropEra(
  engine: Engine,
  record: QueueRecord,
  mark: string,
  untilMs: number,
): Promise<boolean> {
  const { era, unseen } = purgedEra(mark)
  const partition = partitionOf({ ...record, scheduled: { ...record.scheduled, era } })
  for (;;) {
    const { rows, more } = await scheduledRows(engine.dynamo, partition, {
      to: PURGED_SORT_KEY,
      limit: PAGE,
    })
    await dropBatchesOf(engine, record, rows)
    await engine.dynamo.deleteMany(rows.map(({ sk }) => ({ pk: partition, sk })))
    if (!more) break
    if (engine.clock.nowMs() >= untilMs) return false
  }
  // A read may not yet show a row that a transaction has put. A delete waits for it, and returns it.
  for (const sk of [...unseen, PURGED_SORT_KEY]) {
    const key = { pk: partition, sk }
    const dropped = await engine.dynamo.delete({ Key: key, ReturnValues: 'ALL_OLD' })
    if (dropped.kind === 'unknown') return false
    if (dropped.row !== undefined) await dropBatchesOf(engine, record, [rowOf(dropped.row)])
  }
  return true
}

async function dropBatchesOf(
  engine: Engine,
  { queue }: QueueRecord,
  rows: readonly EntryRow[],
): Promise<void> {
  const entries = rows.flatMap((row) => row.entries)
  const batches = entries.map((entry) => decodeScheduled(entry).entry).filter(isReference)
  await dropBatches(engine, queue, batches)
}
