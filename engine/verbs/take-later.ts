// Scheduled items taken out by their ids: cancelled, or put into a new place, which is among the scheduled again. An
// item lies in the record's list or in a row, and may be copied from one into the other (a seal), join its lane, or be
// cancelled while we look. Every write that takes some out changes one counter of the record, and passes only if that
// is as its process saw it. So an item never goes to both a join and this, and it is in one place at any time. To
// answer that one is gone takes a write as well: two reads might show the record before such a write and the rows after
// it.

import { QueueError } from '../../shared/errors.ts'
import { isReference } from '../core/item.ts'
import { recordKey } from '../core/keys.ts'
import { indexesLeft, parseScheduledId, unseenBeside } from '../core/later.ts'
import {
  entryOf,
  type FoundScheduled,
  inOrderOfTime,
  type Removal,
  removalOf,
} from '../core/moved-items.ts'
import { mustSeal } from '../core/plan-seal.ts'
import type { QueueRecord } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import { unlessPatientSince } from '../requests/blind-updates.ts'
import {
  asReadUpdate,
  lowerTimer,
  partitionOf,
  rewritten,
  takeUpdate,
  timeLeft,
} from '../requests/later-rows.ts'
import { findScheduled, sealLater } from '../storing/copy-later.ts'
import { dropBatches } from '../storing/write-entries.ts'
import {
  type NewPlace,
  type Placing,
  placedAnew,
  placementOf,
  readTarget,
  targetOf,
  withAlong,
} from './place-later.ts'

/**
 * Takes scheduled items out by their ids, and returns the ids of those that it took out, not of items that had joined
 * or been cancelled before.
 */
export async function cancelScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await takeScheduled(engine, queue, ids)).keys())
}

/**
 * Gives scheduled items another time, another priority, another queue, or several of these; returns their new ids by
 * the old ones. An item whose new time has passed joins with the next pop or sweep.
 */
export async function rescheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place: NewPlace,
): Promise<ReadonlyMap<string, string>> {
  return takeScheduled(engine, queue, ids, place)
}

/** Attempts lost to writers that seal, join or cancel. */
const ATTEMPTS_MAX = 24
/** Ids of one write: each may come out of a separate row and go into another, and a transaction takes 100. */
const IDS_PER_WRITE = 45

/**
 * Takes scheduled items out, and puts them into their new place if there is one. Returns the ids of the items that it
 * found, with their new ids.
 */
async function takeScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place?: NewPlace,
): Promise<Map<string, string>> {
  const taken = new Map<string, string>()
  let left: readonly string[] = [...new Set(ids)]
  while (left.length > 0) {
    // A move looks at all of them, because it must keep their order.
    const looked = place === undefined ? left.slice(0, IDS_PER_WRITE) : left
    const some = await takeSome(engine, queue, looked, place).catch((error: unknown) => {
      throw taken.size > 0 ? QueueError.partly(error) : error
    })
    for (const [id, newId] of some.taken) taken.set(id, newId)
    left = [...some.left, ...left.slice(looked.length)]
  }
  return taken
}

type Some = {
  readonly taken: ReadonlyMap<string, string>
  /** Items that were found but did not fit into the write. Items that are not here either are gone. */
  readonly left: readonly string[]
}

async function takeSome(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place: NewPlace | undefined,
): Promise<Some> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await engine.records.read(queue)
    if (record === undefined) return { taken: new Map(), left: [] }
    const { found: all, isAll } = await findAll(engine, record, ids)
    const found = all.slice(0, IDS_PER_WRITE)
    const left = all.slice(IDS_PER_WRITE).map(({ id }) => id)
    const staying = found.filter((one) => isThere(record, one, place))
    const removal = removalOf(
      record.scheduled,
      found.filter((one) => !staying.includes(one)),
    )
    const results = new Map(staying.map(({ id }) => [id, id]))
    if (isAll && removal.items.length > 0) {
      const moved = await moveOut(engine, record, removal, place)
      if (moved !== undefined) return { taken: new Map([...results, ...moved]), left }
    } else if (isAll && (await isStill(engine, record))) return { taken: results, left }
    await engine.records.pause(attempt)
  }
  throw QueueError.busy(queue)
}

async function findAll(
  engine: Engine,
  record: QueueRecord,
  ids: readonly string[],
): Promise<{ readonly found: FoundScheduled[]; readonly isAll: boolean }> {
  let isAll = true
  const places = await Promise.all(
    ids.map(async (id) => {
      const wanted = parseScheduledId(id)
      const place = wanted && (await findScheduled(engine, record, wanted))
      if (place === 'unseen') isAll = false
      else return wanted && place && { id, wanted, place }
      return undefined
    }),
  )
  const found = places
    .filter((one) => one !== undefined)
    .filter((one) => indexesLeft(entryOf(record.scheduled, one)).includes(one.wanted.index))
    .sort(inOrderOfTime)
  return { found, isAll }
}

/** Whether the item already is where it should go; then it keeps its id. */
function isThere(record: QueueRecord, found: FoundScheduled, place: NewPlace | undefined): boolean {
  if (place === undefined || (place.queue ?? record.queue) !== record.queue) return false
  const { due, priority } = entryOf(record.scheduled, found)
  const isThen = place.dueMs === undefined || Math.ceil(place.dueMs / 1_000) === due
  return isThen && (place.priority ?? priority) === priority
}

/**
 * Makes sure that items we did not find are gone: that nothing moved one between our reads of the record and the rows.
 * The write changes nothing.
 */
async function isStill(engine: Engine, record: QueueRecord): Promise<boolean> {
  const { queue } = record
  const written = await engine.records.update(queue, asReadUpdate(record))
  if (written.kind === 'unknown') return false
  engine.records.seen(queue, written.row)
  return written.kind === 'done'
}

/** One write; undefined if it lost to another, or if a seal or a look at newer rows had to come first. */
async function moveOut(
  engine: Engine,
  record: QueueRecord,
  removal: Removal,
  place: NewPlace | undefined,
): Promise<ReadonlyMap<string, string> | undefined> {
  const target = place && (await readTarget(engine, record, place))
  if (target !== undefined && mustSeal(target)) {
    await sealLater(engine, target)
    return undefined
  }
  const placing = place && target && (await placedAnew(engine, record, removal, place, target))
  if (place !== undefined && placing === undefined) return undefined
  const batches = placing?.entries.map(({ entry }) => entry).filter(isReference) ?? []
  const drop = () => dropBatches(engine, target?.queue ?? record.queue, batches)
  const isDone = await write(engine, record, removal, placing).catch(async (error: unknown) => {
    if (error instanceof QueueError && error.outcome !== 'unknown') await drop()
    throw error
  })
  if (!isDone) {
    await drop()
    return undefined
  }
  await dropBatches(engine, record.queue, removal.spent)
  return new Map(removal.items.map(({ id }, index) => [id, placing?.ids[index] ?? id]))
}

async function write(
  engine: Engine,
  record: QueueRecord,
  { taken, rows, left }: Removal,
  placing: Placing | undefined,
): Promise<boolean> {
  const { queue } = record
  const { tableName: TableName } = engine.dynamo
  const isWithin = placing?.target.queue === queue
  const nowMs = engine.clock.nowMs()
  const dueMs = timeLeft(record, left, taken.nextDue, nowMs)
  const own = isWithin ? { left, dueMs } : undefined
  const placement = placing && placementOf(engine, placing, own)
  const known = isWithin && placement ? placement.unseen : record.scheduled.unseen
  const unseen = unseenBeside(known, rows)
  const update = takeUpdate(
    record,
    isWithin && placement ? { ...withAlong(taken, placement), unseen } : { ...taken, unseen },
    (one) => {
      if (isWithin) placement?.beside(one)
      else if (dueMs !== undefined) lowerTimer(one, record, dueMs, { nowMs })
      // What is left is in time by the timer that we saw.
      else if (record.checkAtMs !== undefined) unlessPatientSince(one, record.checkAtMs)
    },
  )
  const target = placing && placement && !isWithin ? targetOf(placing, placement) : undefined
  const partition = partitionOf(record)
  const puts = placement?.rows ?? []
  if (puts.length + rows.length === 0) {
    const written = await engine.records.update(queue, update)
    if (written.kind === 'unknown') throw QueueError.unknown(queue, written.cause)
    engine.records.seen(queue, written.row)
    return written.kind === 'done'
  }
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName, Key: recordKey(queue), ...update } },
      ...(target ? [{ Update: { TableName, ...target } }] : []),
      ...puts.map((Item) => ({ Put: { TableName, Item } })),
      ...rows.map((row) => rewritten(TableName, partition, row)),
    ],
  })
  engine.records.forget(queue)
  if (placing !== undefined) engine.records.forget(placing.target.queue)
  if (transacted.kind === 'unknown') throw QueueError.unknown(queue, transacted.cause)
  return transacted.kind === 'done'
}
