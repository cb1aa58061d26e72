import type { Row } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { obstacleTo } from '../../core/append.ts'
import {
  type FoundRows,
  type Join,
  type JoiningRow,
  nextDueAfter,
  planJoin,
} from '../../core/join.ts'
import {
  hasEmptyLane,
  isSomethingJoinable,
  mayHaveRoom,
  rowsToTakeBack,
} from '../../core/joinable.ts'
import { recordKey } from '../../core/keys.ts'
import { LANES_MAX, ROWS_PER_JOIN } from '../../core/limits.ts'
import { doneLocks } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isDue, isSomethingDue } from '../../core/scheduled.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { partitionOf, rewritten, scheduledRows } from '../../store/scheduled-rows.ts'
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
import { makeRoomForLanes, missingLanes } from '../lanes/lanes.ts'
import { sealAfter, sealQuietly } from '../lanes/seal.ts'
import { dropBatches } from './drop-rows.ts'
import { entriesToJoin, type ToJoin } from './entries-to-join.ts'
import { lookLater, takeBack } from './take-back.ts'

/** Counts races lost to other joins, and waits for a full tail. */
const ATTEMPTS_MAX = 24

/**
 * `stuck`: items are due, but none can join now. `lost`: some can, but other writes came first too often, or the rows
 * have changed since we read them. Nothing has changed, and the next pop or sweep tries again.
 */
export type Joined = {
  readonly kind: 'joined' | 'stuck' | 'lost'
  readonly record: QueueRecord | undefined
  readonly items: number
}

/** `isBrief`: the caller waits for more than this join, and others will try again soon. */
type JoinOptions = { readonly isBrief?: boolean | undefined }

/** Whether something is due by this clock for which there may be room and a lane. */
export const mayJoin = (engine: Engine, record: QueueRecord, nowMs: number): boolean =>
  mayHaveRoom(record) && isSomethingJoinable(record, nowMs, areRowsBlocked(engine, record))

/**
 * Moves due items to their lanes, as many as one write takes: from then on it is as if they had been pushed at that
 * moment. The write is an append, so pushes and pops go on beside it. The same write, a transaction if there are rows,
 * takes the entries out of the record, on condition that no other process has taken any out, and out of the rows, on
 * condition that they are as we read them. So each item joins once.
 */
export async function join(
  engine: Engine,
  first: QueueRecord,
  nowMs: number,
  options: JoinOptions = {},
): Promise<Joined> {
  let record: QueueRecord | undefined = first
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined || !isSomethingDue(record.scheduled, nowMs)) {
      return { kind: 'joined', record, items: 0 }
    }
    const tried: Tried = await joinOnce(engine, record, nowMs, options)
    if (tried.kind === 'joined') return tried
    if (tried.kind !== 'again') return { kind: tried.kind, record: tried.record, items: 0 }
    record = tried.record
    if (attempt > 2) await pause(engine, attempt)
  }
  return { kind: 'lost', record, items: 0 }
}

type Tried =
  | { readonly kind: 'joined'; readonly record: QueueRecord; readonly items: number }
  | { readonly kind: 'again' | 'stuck' | 'lost'; readonly record: QueueRecord | undefined }

async function joinOnce(
  engine: Engine,
  record: QueueRecord,
  nowMs: number,
  options: JoinOptions,
): Promise<Tried> {
  const { queue, scheduled } = record
  const isRowDue = scheduled.nextDue !== undefined && isDue(scheduled.nextDue, nowMs)
  const found = isRowDue
    ? await scheduledRows(engine.dynamo, partitionOf(record), { limit: ROWS_PER_JOIN })
    : undefined
  const planned = planJoin(record, found, nowMs)
  if (planned === undefined) return makeWay(engine, record, found, nowMs)
  const toJoin = await entriesToJoin(engine, queue, planned.joining)
  // If a batch is gone, it has joined in a newer record than ours.
  if (toJoin === undefined) return { kind: 'again', record: await readRecord(engine, queue) }
  const written = await write(engine, record, planned, { ...toJoin, ...options })
  // It does not matter whether this write has landed or still will: it can land only while nothing has joined since,
  // and the same holds for the next one. Keep the batches, because its entries may come to refer to them.
  if (written.kind === 'unknown') return { kind: 'again', record: await readRecord(engine, queue) }
  if (written.kind !== 'done') await dropBatches(engine, queue, toJoin.written)
  if (written.kind === 'refused') return { kind: 'lost', record }
  if (written.kind === 'done') await dropBatches(engine, queue, toJoin.spent)
  const after = await recordAfter(engine, queue, written)
  if (after === undefined) return { kind: 'again', record: after }
  if (written.kind === 'failed') return clearTheWay(engine, after, toJoin)
  // After a transaction, others may have written before we read the record, so we cannot tell who crossed a line.
  await sealAfter(engine, after, written.isRead ? after.tailBytes : toJoin.addition.bytes)
  return { kind: 'joined', record: after, items: planned.items }
}

/** A transaction does not return the record. What it wrote stands, even if this read fails. */
const recordAfter = async (
  engine: Engine,
  queue: string,
  written: Extract<JoinWritten, { kind: 'done' | 'failed' }>,
): Promise<QueueRecord | undefined> =>
  written.kind === 'done' && written.isRead
    ? await readRecord(engine, queue)
    : seen(engine, queue, written.row)

function joinUpdate(engine: Engine, record: QueueRecord, planned: Join, { addition }: ToJoin) {
  return appendUpdate(addition, tailLimits(engine), {
    newLanes: missingLanes(engine, addition, record),
    // Its push took a slot of the limit.
    pass: 'free',
    remindAtMs: remindAtMs(engine),
    beside(update) {
      update.condition(`born=${update.value(record.born)}`)
      take(update, record.scheduled, planned)
    },
  })
}

type JoinWritten =
  | { readonly kind: 'done'; readonly row: Row | undefined; readonly isRead: boolean }
  | { readonly kind: 'failed'; readonly row: Row | undefined }
  /** Refused for now, by the store or because a row is not as we read it. Nothing has changed. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' }

async function write(
  engine: Engine,
  record: QueueRecord,
  planned: Join,
  toJoin: ToJoin & JoinOptions,
): Promise<JoinWritten> {
  const update = joinUpdate(engine, record, planned, toJoin)
  const { rows, rest } = planned
  const left = [...rows.map((row) => ({ ...row, entries: [] })), ...(rest ? [rest] : [])]
  try {
    if (left.length > 0)
      return await writeWithRows(engine, record, update, { left, isBrief: toJoin.isBrief })
    const written = await engine.dynamo.update(recordKey(record.queue), update)
    return written.kind === 'done' ? { ...written, isRead: false } : written
  } catch (error) {
    if (!(error instanceof QueueError) || error.outcome === 'unknown') throw error
    engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
    return { kind: 'refused' }
  }
}

async function writeWithRows(
  engine: Engine,
  record: QueueRecord,
  update: ReturnType<typeof joinUpdate>,
  { left, isBrief }: { readonly left: readonly JoiningRow[] } & JoinOptions,
): Promise<JoinWritten> {
  const { dynamo } = engine
  const { tableName: TableName } = dynamo
  const Key = recordKey(record.queue)
  const ReturnValuesOnConditionCheckFailure = 'ALL_OLD' as const
  const own = { Update: { TableName, Key, ...update, ReturnValuesOnConditionCheckFailure } }
  const rows = left.map((row) => rewritten(TableName, partitionOf(record), row))
  const transacted = await dynamo.transact({ TransactItems: [own, ...rows] }, { isBrief })
  if (transacted.kind === 'unknown') return { kind: 'unknown' }
  if (transacted.kind === 'done') return { kind: 'done', row: undefined, isRead: true }
  const [refusal] = transacted.reasons
  return refusal?.failed ? { kind: 'failed', row: refusal.row } : { kind: 'refused' }
}

/**
 * Nothing can join. Items of acknowledged locks may take up the room, or empty lanes the places of new ones. Or no item
 * of the first row has a lane: then its entries go back to the record, where others can pass them.
 */
async function makeWay(
  engine: Engine,
  record: QueueRecord,
  found?: FoundRows,
  nowMs = Number.NEGATIVE_INFINITY,
): Promise<Tried> {
  const first = found?.rows[0]
  if (found !== undefined && (first === undefined || !isDue(first.due, nowMs))) {
    const nextDue = nextDueAfter(record.scheduled, found, 0)
    // A row cannot be read yet; the next process that comes will read it.
    if (nextDue !== undefined && isDue(nextDue, nowMs)) return { kind: 'lost', record }
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

/** Drops empty lanes; undefined if no lane can go. */
async function makeRoom(engine: Engine, record: QueueRecord): Promise<Tried | undefined> {
  try {
    return { kind: 'again', record: await makeRoomForLanes(engine, record) }
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'TOO_MANY_PRIORITIES') throw error
    return undefined
  }
}
