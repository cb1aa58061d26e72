import { QueueError } from '../../../foundation/errors.ts'
import { obstacleTo } from '../../core/append.ts'
import { type FoundRows, nextDueAfter, planJoin } from '../../core/join.ts'
import {
  hasEmptyLane,
  isSomethingJoinable,
  mayHaveRoom,
  rowsToTakeBack,
} from '../../core/joinable.ts'
import { roomForDue } from '../../core/kept-room.ts'
import { LANES_MAX, ROWS_PER_JOIN } from '../../core/limits.ts'
import { doneLocks } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isDue, isSomethingDue } from '../../core/scheduled.ts'
import { partitionOf, scheduledRows } from '../../store/scheduled-rows.ts'
import { asStored, type Known } from '../attempts/decision.ts'
import {
  areRowsBlocked,
  type Engine,
  noteBlockedRows,
  pause,
  readRecord,
  seen,
  tailLimits,
} from '../attempts/engine.ts'
import { tryToFold } from '../attempts/fold.ts'
import { unreadable } from '../attempts/missing-items.ts'
import { dropBatches } from '../lanes/entries.ts'
import { makeRoomForLanes } from '../lanes/lanes.ts'
import { sealAfter, sealQuietly } from '../lanes/seal.ts'
import { entriesToJoin, type ToJoin } from './entries-to-join.ts'
import { lookLater, takeBack } from './take-back.ts'
import { type JoinOptions, type JoinWritten, writeJoin } from './write-join.ts'

/** Counts races lost to other joins, and waits for a full tail. */
const ATTEMPTS_MAX = 24

/**
 * `stuck`: items are due, but none can join now. `lost`: some can, but other writes came first too often, the store
 * refuses, or a row cannot be read yet. Nothing has changed, and the next pop or sweep tries again.
 */
export type Joined = Known & {
  readonly kind: 'joined' | 'stuck' | 'lost'
  readonly items: number
}

/** Whether something is due by this clock that lacks nothing but room. */
export const lacksRoom = (engine: Engine, record: QueueRecord, nowMs: number): boolean =>
  !mayHaveRoom(record) && isSomethingJoinable(record, nowMs, areRowsBlocked(engine, record))

/**
 * Moves due items to their lanes, as many as one write takes: from then on it is as if they had been pushed at that
 * moment. The write is an append, so pushes and pops go on beside it. The same write, a transaction if there are rows,
 * takes the entries out of the record, on condition that no other process has taken any out, and out of the rows, on
 * condition that they are as we read them. So each item joins once.
 */
export async function join(
  engine: Engine,
  first: Known,
  nowMs: number,
  options: JoinOptions = {},
): Promise<Joined> {
  let known = first
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const { record, isCurrent } = known
    if (record === undefined || !isSomethingDue(record.scheduled, nowMs)) {
      return { kind: 'joined', record, isCurrent, items: 0 }
    }
    const { nextDue } = record.scheduled
    const isRowDue = nextDue !== undefined && isDue(nextDue, nowMs)
    const found = isRowDue
      ? await scheduledRows(engine.dynamo, partitionOf(record), { limit: ROWS_PER_JOIN })
      : undefined
    const tried = await joinOnce(engine, { record, isCurrent }, found, { ...options, nowMs })
    if (tried.kind !== 'again') return tried
    known = tried
    if (attempt > 2) await pause(engine, attempt)
  }
  return { kind: 'lost', record: known.record, isCurrent: known.isCurrent, items: 0 }
}

type Tried = Joined | (Known & { readonly kind: 'again' })

const again = (record: QueueRecord | undefined): Tried => ({ kind: 'again', ...asStored(record) })

const without = (kind: 'stuck' | 'lost', record: QueueRecord | undefined): Tried => ({
  kind,
  ...asStored(record),
  items: 0,
})

async function joinOnce(
  engine: Engine,
  { record, isCurrent }: Known & { readonly record: QueueRecord },
  found: FoundRows | undefined,
  options: JoinOptions & { readonly nowMs: number },
): Promise<Tried> {
  const { nowMs } = options
  const { queue } = record
  const planned = planJoin(record, found, nowMs)
  if (planned === undefined) {
    if (isCurrent) return makeWay(engine, record, found, nowMs)
    // By the current record, others may have joined these items, or there may be room or lanes by now (rule 7).
    const now = await readRecord(engine, queue)
    if (!isUnchanged(record, now)) return again(now)
    return joinOnce(engine, { record: now, isCurrent: true }, found, options)
  }
  const toJoin = await entriesToJoin(engine, queue, planned.joining)
  if (toJoin === undefined) {
    const now = await readRecord(engine, queue)
    // If a batch is gone, it has joined in a newer record than ours.
    if (isUnchanged(record, now)) throw unreadable(queue)
    return again(now)
  }
  const written = await writeJoin(engine, record, planned, { ...toJoin, ...options })
  // It does not matter whether this write has landed or still will: it can land only while nothing has joined since,
  // and the same holds for the next one. Keep the batches, because its entries may come to refer to them.
  if (written.kind === 'unknown') return again(await readRecord(engine, queue))
  if (written.kind !== 'done') await dropBatches(engine, queue, toJoin.written)
  if (written.kind === 'refused') return unlessMovedOn(engine, record)
  if (written.kind === 'done') await dropBatches(engine, queue, toJoin.spent)
  const after = await recordAfter(engine, queue, written)
  if (after === undefined) return again(after)
  if (written.kind === 'failed') return clearTheWay(engine, after, toJoin)
  // After a transaction, others may have written before we read the record, so we cannot tell who crossed a line.
  await sealAfter(engine, after, written.isRead ? after.tailBytes : toJoin.addition.bytes)
  return { kind: 'joined', ...asStored(after), items: planned.items }
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

/**
 * The join met something in its way, or did not find a row. If others have taken scheduled items out meanwhile, it goes
 * on by the record that they have left; otherwise the next process that comes will do it.
 */
async function unlessMovedOn(engine: Engine, record: QueueRecord): Promise<Tried> {
  const now = await readRecord(engine, record.queue)
  return isUnchanged(record, now) ? without('lost', now) : again(now)
}

/** Nobody has taken scheduled items out since, and all rows are as they were. */
const isUnchanged = (seen: QueueRecord, now: QueueRecord | undefined): now is QueueRecord =>
  now?.born === seen.born && now.scheduled.changes === seen.scheduled.changes

/**
 * Nothing can join by the current record. Items of acknowledged locks may take up the room, or empty lanes the places of new ones. Or no item
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
    // A row is missing: it cannot be read yet, or others have joined it.
    if (nextDue !== undefined && isDue(nextDue, nowMs)) return unlessMovedOn(engine, record)
    return again(await lookLater(engine, record, found))
  }
  if (roomForDue(record) <= 0 && doneLocks(record) > 0) {
    const isAnswered = await tryToFold(engine, record)
    const folded = await readRecord(engine, record.queue)
    if (folded === undefined || roomForDue(folded) > 0) return again(folded)
    if (doneLocks(folded) === 0) return without('stuck', folded)
    // Others wrote first.
    return isAnswered ? again(folded) : without('lost', folded)
  }
  if (roomForDue(record) <= 0) return without('stuck', record)
  if (record.lanes.size >= LANES_MAX && hasEmptyLane(record)) {
    const made = await makeRoom(engine, record)
    if (made !== undefined) return made
  }
  if (found === undefined) return without('stuck', record)
  const rows = rowsToTakeBack(record, found, nowMs)
  if (rows.length === 0) {
    noteBlockedRows(engine, record)
    return without('stuck', record)
  }
  return again(await takeBack(engine, record, rows, found))
}

async function clearTheWay(
  engine: Engine,
  record: QueueRecord,
  { addition }: ToJoin,
): Promise<Tried> {
  const room = roomForDue(record)
  switch (obstacleTo(addition, { ...record, room }, tailLimits(engine)).kind) {
    case 'full':
      return room > 0 ? again(record) : makeWay(engine, record)
    case 'tail-full':
      await sealQuietly(engine, record)
      return again(await readRecord(engine, record.queue))
    default:
      return again(record)
  }
}

/** Drops empty lanes; undefined if no lane can go. */
async function makeRoom(engine: Engine, record: QueueRecord): Promise<Tried | undefined> {
  try {
    return again(await makeRoomForLanes(engine, record))
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'TOO_MANY_PRIORITIES') throw error
    return undefined
  }
}
