// Due items join their lanes: from then on it is as if they had been pushed at that moment. One write does it, an
// append that also takes the entries out of the record's list, or a transaction that takes them out of rows as well.
// It passes only if no other process has taken any out and the rows are as we read them, so each item joins once, and
// it does not matter whether a write whose answer was lost has landed. If nothing can join, something is in the way:
// items that take up the room, or a row that cannot be read yet. Then we clear the way, or the items wait.

import type { Row } from '../../aws/dynamo.ts'
import { QueueError } from '../../shared/errors.ts'
import { obstacleTo } from '../core/append.ts'
import { type EntryRow, isDue, isSomethingDue } from '../core/later.ts'
import { ROWS_PER_JOIN } from '../core/limits.ts'
import { doneLocks } from '../core/locks.ts'
import { type FoundRows, type Join, nextDueAfter, planJoin, roomForDue } from '../core/plan-join.ts'
import type { QueueRecord } from '../core/record.ts'

import { asStored, type Known } from '../driver/decision.ts'
import { type Engine, tryToFold } from '../driver/engine.ts'
import { appendUpdate } from '../requests/append-update.ts'
import {
  lowerTimer,
  partitionOf,
  rewritten,
  scheduledRows,
  take,
  takeKeptRoom,
  timeLeft,
} from '../requests/later-rows.ts'
import { lookLater } from './copy-later.ts'
import { sealAfter, sealQuietly } from './seal.ts'
import { dropBatches, entriesToJoin, missingLanes, type ToJoin } from './write-entries.ts'

/**
 * `stuck`: items are due, and there is no room. `lost`: some can, but other writes came first too often, the store
 * refuses, or a row cannot be read yet. Nothing has changed, and the next pop or sweep tries again.
 */
type Joined = Known & {
  readonly kind: 'joined' | 'stuck' | 'lost'
  readonly items: number
}

/** `isBrief`: the caller waits for more than this join, and others will try again soon. */
type JoinOptions = { readonly isBrief?: boolean | undefined }

/** Counts races lost to other joins, and waits for a full tail. */
const ATTEMPTS_MAX = 24

/** Moves due items to their lanes, as many as one write takes. It is an append, so pushes and pops go on beside it. */
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
    if (attempt > 2) await engine.records.pause(attempt)
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
    // By the current record, others may have joined these items, or there may be room by now (rule 7).
    const now = await engine.records.read(queue)
    if (!isUnchanged(record, now)) return again(now)
    return joinOnce(engine, { record: now, isCurrent: true }, found, options)
  }
  const toJoin = await entriesToJoin(engine, queue, planned.joining)
  if (toJoin === undefined) {
    const now = await engine.records.read(queue)
    // If a batch is gone, it has joined in a newer record than ours.
    if (isUnchanged(record, now)) throw QueueError.unreadable(queue)
    return again(now)
  }
  const written = await writeJoin(engine, record, planned, { ...toJoin, ...options })
  // It does not matter whether this write has landed or still will: it can land only while nothing has joined since,
  // and the same holds for the next one. Keep the batches, because its entries may come to refer to them.
  if (written.kind === 'unknown') return again(await engine.records.read(queue))
  if (written.kind !== 'done') await dropBatches(engine, queue, toJoin.written)
  if (written.kind === 'refused') return unlessMovedOn(engine, record)
  if (written.kind === 'done') await dropBatches(engine, queue, toJoin.spent)
  const after = await leftBy(engine, queue, written)
  if (after === undefined) return again(after)
  if (written.kind === 'failed') return clearTheWay(engine, after, toJoin)
  // After a transaction, others may have written before we read the record, so we cannot tell who crossed a line.
  await sealAfter(engine, after, written.isRead ? after.tailBytes : toJoin.addition.bytes)
  return { kind: 'joined', ...asStored(after), items: planned.items }
}

/** A transaction does not return the record. What it wrote stands, even if this read fails. */
const leftBy = async (
  engine: Engine,
  queue: string,
  written: Extract<JoinWritten, { kind: 'done' | 'failed' }>,
): Promise<QueueRecord | undefined> =>
  written.kind === 'done' && written.isRead
    ? await engine.records.read(queue)
    : engine.records.seen(queue, written.row)

/**
 * The join met something in its way, or did not find a row. If others have taken scheduled items out meanwhile, it goes
 * on by the record that they have left; otherwise the next process that comes will do it.
 */
async function unlessMovedOn(engine: Engine, record: QueueRecord): Promise<Tried> {
  const now = await engine.records.read(record.queue)
  return isUnchanged(record, now) ? without('lost', now) : again(now)
}

/** Nobody has taken scheduled items out since, and all rows are as they were. */
const isUnchanged = (seen: QueueRecord, now: QueueRecord | undefined): now is QueueRecord =>
  now?.born === seen.born && now.scheduled.changes === seen.scheduled.changes

/** Nothing can join by the current record. Items of acknowledged locks may take up the room, or a row cannot be read. */
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
  if (doneLocks(record) === 0) return without('stuck', record)
  const isAnswered = await tryToFold(engine, record)
  const folded = await engine.records.read(record.queue)
  if (folded === undefined || roomForDue(folded) > 0) return again(folded)
  if (doneLocks(folded) === 0) return without('stuck', folded)
  // Others wrote first.
  return isAnswered ? again(folded) : without('lost', folded)
}

async function clearTheWay(
  engine: Engine,
  record: QueueRecord,
  { addition }: ToJoin,
): Promise<Tried> {
  const room = roomForDue(record)
  switch (obstacleTo(addition, { ...record, room }, engine.records.tailLimits()).kind) {
    case 'full':
      return room > 0 ? again(record) : makeWay(engine, record)
    case 'tail-full':
      await sealQuietly(engine, record)
      return again(await engine.records.read(record.queue))
    default:
      return again(record)
  }
}

type JoinWritten =
  | { readonly kind: 'done'; readonly row: Row | undefined; readonly isRead: boolean }
  | { readonly kind: 'failed'; readonly row: Row | undefined }
  /** Refused for now, by the store or because a row is not as we read it. Nothing has changed. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' }

async function writeJoin(
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
    const written = await engine.records.update(record.queue, update)
    return written.kind === 'done' ? { ...written, isRead: false } : written
  } catch (error) {
    if (!(error instanceof QueueError) || error.outcome === 'unknown') throw error
    engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
    return { kind: 'refused' }
  }
}

/** An append that takes what it brings out of the record's list. */
function joinUpdate(engine: Engine, record: QueueRecord, planned: Join, { addition }: ToJoin) {
  const nowMs = engine.clock.nowMs()
  const left = record.scheduled.entries.filter((_, place) => !planned.places.includes(place))
  const dueMs = timeLeft(record, left, planned.nextDue, nowMs)
  return appendUpdate(addition, engine.records.tailLimits(), {
    newLanes: missingLanes(engine, addition, record),
    // Its push took a slot of the limit.
    pass: 'free',
    keptRoom: planned.keptRoom,
    remindAtMs: dueMs === undefined ? engine.records.remindAtMs() : undefined,
    beside(update) {
      if (dueMs !== undefined) lowerTimer(update, record, dueMs, { nowMs })
      update.condition(`born=${update.value(record.born)}`)
      if (planned.joining.some(({ lane, priority }) => lane !== priority)) {
        // A lane that was made since may be its own, or nearer; and one that was dropped leaves a place for its own.
        update.condition(`n=${update.value(record.lanesMade)}`)
        update.condition(`size(L)=${update.value(record.lanes.size)}`)
      }
      take(update, record.scheduled, planned)
      takeKeptRoom(update, planned.keptRoom)
    },
  })
}

async function writeWithRows(
  engine: Engine,
  record: QueueRecord,
  update: ReturnType<typeof joinUpdate>,
  { left, isBrief }: { readonly left: readonly EntryRow[] } & JoinOptions,
): Promise<JoinWritten> {
  const { dynamo } = engine
  const own = engine.records.entry(record.queue, update)
  const rows = left.map((row) => rewritten(dynamo.tableName, partitionOf(record), row))
  const transacted = await dynamo.transact({ TransactItems: [own, ...rows] }, { isBrief })
  if (transacted.kind === 'unknown') return { kind: 'unknown' }
  if (transacted.kind === 'done') return { kind: 'done', row: undefined, isRead: true }
  const [refusal] = transacted.reasons
  return refusal?.failed ? { kind: 'failed', row: refusal.row } : { kind: 'refused' }
}

type Used = {
  readonly record: QueueRecord | undefined
  /** Due items could join, but others came first: the room stays theirs. */
  readonly isLost: boolean
}

/**
 * For a call that finds no room in a queue that keeps some: lets due items join. If none is due any more, or if nobody
 * can read them now, a write gives the room back, or the queue would refuse all calls for as long.
 */
export async function useKeptRoom(engine: Engine, record: QueueRecord): Promise<Used> {
  const { kind, record: left, items } = await tryToJoin(engine, record)
  const isLost = kind === 'lost'
  if (left === undefined || left.keptRoom === 0 || items > 0 || isLost) {
    return { record: left, isLost }
  }
  const nowMs = engine.clock.nowMs()
  const committed = await engine.records.commit(
    engine.records.change(left, left, { nowMs, givesRoomBack: true }),
  )
  const after = committed.kind === 'committed' ? committed.record : committed.current
  return { record: after, isLost: false }
}

/** The call waits for this, and there are others that can join them. An error is no reason to refuse the call. */
async function tryToJoin(engine: Engine, record: QueueRecord): Promise<Omit<Joined, 'isCurrent'>> {
  try {
    return await join(engine, asStored(record), engine.clock.nowMs(), { isBrief: true })
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    engine.onBackgroundError(error, { queue: record.queue, step: 'join' })
    return { kind: 'stuck', record: await engine.records.read(record.queue), items: 0 }
  }
}
