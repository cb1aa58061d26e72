import type { Row } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import type { Join, JoiningRow } from '../../core/join.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { partitionOf, rewritten } from '../../store/scheduled-rows.ts'
import { lowerTimer, take, takeKeptRoom, timeLeft } from '../../store/scheduled-updates.ts'
import { type Engine, remindAtMs, tailLimits } from '../attempts/engine.ts'
import { missingLanes } from '../lanes/entries.ts'
import type { ToJoin } from './entries-to-join.ts'

// The one write of a join: an append that takes what it brings out of the record's list and out of the rows.

/** `isBrief`: the caller waits for more than this join, and others will try again soon. */
export type JoinOptions = { readonly isBrief?: boolean | undefined }

function joinUpdate(engine: Engine, record: QueueRecord, planned: Join, { addition }: ToJoin) {
  const nowMs = engine.clock.nowMs()
  const left = record.scheduled.entries.filter((_, place) => !planned.places.includes(place))
  const dueMs = timeLeft(record, left, planned.nextDue, nowMs)
  return appendUpdate(addition, tailLimits(engine), {
    newLanes: missingLanes(engine, addition, record),
    // Its push took a slot of the limit.
    pass: 'free',
    keptRoom: planned.keptRoom,
    remindAtMs: dueMs === undefined ? remindAtMs(engine) : undefined,
    beside(update) {
      if (dueMs !== undefined) lowerTimer(update, record, dueMs, { nowMs })
      update.condition(`born=${update.value(record.born)}`)
      take(update, record.scheduled, planned)
      takeKeptRoom(update, planned.keptRoom)
    },
  })
}

export type JoinWritten =
  | { readonly kind: 'done'; readonly row: Row | undefined; readonly isRead: boolean }
  | { readonly kind: 'failed'; readonly row: Row | undefined }
  /** Refused for now, by the store or because a row is not as we read it. Nothing has changed. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' }

export async function writeJoin(
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
