import type { Written } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { obstacleTo } from '../../core/append.ts'
import { type FoundRows, type Join, type JoiningRow, planJoin } from '../../core/join.ts'
import { hasEmptyLane, isSomethingJoinable, rowsToTakeBack } from '../../core/joinable.ts'
import { recordKey } from '../../core/keys.ts'
import { LANES_MAX, ROWS_PER_JOIN } from '../../core/limits.ts'
import { doneLocks } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isDue, isSomethingDue } from '../../core/scheduled.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { behind, partitionOf, scheduledRows, storedRow } from '../../store/scheduled-rows.ts'
import { take } from '../../store/scheduled-updates.ts'
import {
  areRowsBlocked,
  type Engine,
  noteBlockedRows,
  pause,
  readRecord,
  remindAtMs,
  seen,
  tailLimits,
} from '../attempts/engine.ts'
import { foldForRoom } from '../attempts/fold.ts'
import { discardBatch } from '../lanes/entries.ts'
import { makeRoomForLanes, missingLanes } from '../lanes/lanes.ts'
import { sealAfter, sealQuietly } from '../lanes/seal.ts'
import { deleteTaken, dropBatches } from './drop-rows.ts'
import { entriesToJoin, type ToJoin } from './entries-to-join.ts'
import { lookLater, takeBack } from './take-back.ts'

/** Races lost to others that join, and waits for a full tail. */
const ATTEMPTS_MAX = 24

/** `stuck`: something is due, and nothing of it can join now. `lost`: it may, but others were first too often. */
export type Joined = {
  readonly kind: 'joined' | 'stuck' | 'lost'
  readonly record: QueueRecord | undefined
  readonly items: number
}

/** Something is due by this clock, and there may be room and a lane for it. */
export const mayJoin = (engine: Engine, record: QueueRecord, nowMs: number): boolean =>
  isSomethingJoinable(record, nowMs, areRowsBlocked(engine, record)) &&
  (record.room > 0 || doneLocks(record) > 0)

/**
 * Moves due items to their lanes, as many as one write takes: from then on it is as if they had been pushed at that
 * moment. The write is an append, so pushes and pops go on beside it. The same write takes the entries out of the
 * record, or notes up to which key the rows have joined, on the condition that no other process has taken any out. So
 * each item joins once, even if a process dies on the way: everybody ignores rows that have joined, and the next join
 * deletes them.
 */
export async function join(engine: Engine, first: QueueRecord, nowMs: number): Promise<Joined> {
  let record: QueueRecord | undefined = first
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined || !isSomethingDue(record.scheduled, nowMs)) {
      return { kind: 'joined', record, items: 0 }
    }
    const tried: Tried = await joinOnce(engine, record, nowMs)
    if (tried.kind === 'joined') return tried
    if (tried.kind === 'stuck') return { kind: 'stuck', record: tried.record, items: 0 }
    record = tried.record
    if (attempt > 2) await pause(engine, attempt)
  }
  return { kind: 'lost', record, items: 0 }
}

type Tried =
  | { readonly kind: 'joined'; readonly record: QueueRecord; readonly items: number }
  | { readonly kind: 'again' | 'stuck'; readonly record: QueueRecord | undefined }

async function joinOnce(engine: Engine, record: QueueRecord, nowMs: number): Promise<Tried> {
  const { queue, scheduled } = record
  const isRowDue = scheduled.nextDue !== undefined && isDue(scheduled.nextDue, nowMs)
  const found = isRowDue ? await rowsToJoin(engine, record) : undefined
  const planned = planJoin(record, found, nowMs)
  if (planned === undefined) return makeWay(engine, record, found, nowMs)
  const toJoin = await entriesToJoin(engine, queue, planned.joining)
  // A batch that is gone has joined, by a record that is newer than ours.
  if (toJoin === undefined) return { kind: 'again', record: await readRecord(engine, queue) }
  const update = joinUpdate(engine, record, planned, toJoin)
  const written = await write(engine, record, update, planned.rest)
  // Whether or not it was, or still is to be: it passes while nothing has joined since, and so does the next.
  if (written.kind === 'unknown') return { kind: 'again', record: await readRecord(engine, queue) }
  const after = seen(engine, queue, written.row)
  if (written.kind === 'failed' || after === undefined) {
    for (const entry of toJoin.written) await discardBatch(engine, queue, entry)
    return after === undefined
      ? { kind: 'again', record: after }
      : clearTheWay(engine, after, toJoin)
  }
  await deleteTaken(engine, record, planned.rows)
  await dropBatches(engine, queue, toJoin.spent)
  await sealAfter(engine, after, toJoin.addition.bytes)
  return { kind: 'joined', record: after, items: planned.items }
}

function joinUpdate(engine: Engine, record: QueueRecord, planned: Join, { addition }: ToJoin) {
  const { places, changed, items, bytes, nextDue, rows } = planned
  return appendUpdate(addition, tailLimits(engine), {
    newLanes: missingLanes(engine, addition, record),
    // Its push took a slot of the limit.
    admitted: true,
    remindAtMs: remindAtMs(engine),
    beside(update) {
      update.condition(`born=${update.value(record.born)}`)
      const joinedTo = rows.at(-1)?.sk
      take(update, record.scheduled, { places, changed, items, bytes, nextDue, joinedTo })
    },
  })
}

/** If some of a row stays, that row is written in the same transaction; a transaction does not hand over the record. */
async function write(
  engine: Engine,
  record: QueueRecord,
  update: ReturnType<typeof joinUpdate>,
  rest: JoiningRow | undefined,
): Promise<Written> {
  const { dynamo } = engine
  const key = recordKey(record.queue)
  if (rest === undefined) return dynamo.update(key, update)
  const { tableName: TableName } = dynamo
  const transacted = await dynamo.transact({
    TransactItems: [
      { Update: { TableName, Key: key, ...update } },
      { Put: { TableName, Item: storedRow(partitionOf(record), rest) } },
    ],
  })
  if (transacted.kind === 'unknown') return transacted
  return { kind: transacted.kind, row: await dynamo.get(key, true) }
}

/** The first rows that have not joined. Those that have, and are still there, go. */
async function rowsToJoin(engine: Engine, record: QueueRecord): Promise<FoundRows> {
  const { joinedTo = '' } = record.scheduled
  const found = await scheduledRows(engine.dynamo, partitionOf(record), { limit: ROWS_PER_JOIN })
  const left = found.rows.filter(({ sk }) => sk > joinedTo)
  const joined = found.rows.slice(0, found.rows.length - left.length)
  if (joined.length === 0) return { rows: left, more: found.more }
  await deleteTaken(engine, record, joined)
  if (left.length > 0) return { rows: left, more: found.more }
  // Behind them, whether or not they could be deleted.
  const page = { from: behind(joinedTo), limit: ROWS_PER_JOIN }
  const { rows, more } = await scheduledRows(engine.dynamo, partitionOf(record), page)
  return { rows, more }
}

/**
 * Nothing can join. Items of acknowledged locks may take up the room, or empty lanes the place of others; or nothing of
 * the first row has a lane, and then its entries go back to the record, so that others pass by them.
 */
async function makeWay(
  engine: Engine,
  record: QueueRecord,
  found?: FoundRows,
  nowMs = Number.NEGATIVE_INFINITY,
): Promise<Tried> {
  const first = found?.rows[0]
  if (found !== undefined && (first === undefined || !isDue(first.due, nowMs))) {
    return { kind: 'again', record: await lookLater(engine, record, found) }
  }
  if (record.room <= 0 && doneLocks(record) > 0) {
    const folded = await foldForRoom(engine, record)
    const isStuck = folded !== undefined && folded.room <= 0
    return { kind: isStuck ? 'stuck' : 'again', record: folded }
  }
  if (record.room <= 0) return { kind: 'stuck', record }
  if (record.lanes.size >= LANES_MAX && hasEmptyLane(record)) {
    const made = await makeRoom(engine, record)
    if (made !== undefined) return made
  }
  if (found === undefined) return { kind: 'stuck', record }
  const rows = rowsToTakeBack(record, found.rows, nowMs)
  if (rows.length === 0) {
    noteBlockedRows(engine, record)
    return { kind: 'stuck', record }
  }
  return { kind: 'again', record: await takeBack(engine, record, rows, found) }
}

async function clearTheWay(
  engine: Engine,
  record: QueueRecord,
  { addition }: ToJoin,
): Promise<Tried> {
  switch (obstacleTo(addition, record, tailLimits(engine)).kind) {
    case 'full':
      return record.room > 0 ? { kind: 'again', record } : makeWay(engine, record)
    case 'tail-full':
      await sealQuietly(engine, record)
      return { kind: 'again', record: await readRecord(engine, record.queue) }
    default:
      return { kind: 'again', record }
  }
}

/** Nothing, where no lane can go. */
async function makeRoom(engine: Engine, record: QueueRecord): Promise<Tried | undefined> {
  try {
    return { kind: 'again', record: await makeRoomForLanes(engine, record) }
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'TOO_MANY_PRIORITIES') throw error
    return undefined
  }
}
