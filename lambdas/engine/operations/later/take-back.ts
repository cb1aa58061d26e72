import { type FoundRows, type JoiningRow, nextDueAfter, unseenAfter } from '../../core/join.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { scheduledBytes } from '../../core/scheduled.ts'
import { partitionOf, rewritten } from '../../store/scheduled-rows.ts'
import { lowerTimer, takeUpdate, timeLeft } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'

/**
 * Puts the entries of the first rows, which can have no lanes now, back into the record, where each joins by itself.
 */
export async function takeBack(
  engine: Engine,
  record: QueueRecord,
  rows: readonly JoiningRow[],
  found: FoundRows,
): Promise<QueueRecord | undefined> {
  const { queue, scheduled } = record
  const entries = rows.flatMap((row) => row.entries)
  let bytes = 0
  for (const entry of entries) bytes += scheduledBytes(entry)
  const nextDue = nextDueAfter(scheduled, found, rows.length)
  const unseen = unseenAfter(scheduled, found)
  const taken = { places: [], items: 0, bytes: -bytes, nextDue, unseen }
  const update = takeUpdate(record, taken, (one) => {
    const none = one.value([])
    // At the front: they were scheduled before what the record holds for their seconds.
    one.sets.push(`T=list_append(${one.value(entries)},if_not_exists(T,${none}))`)
  })
  const { tableName: TableName } = engine.dynamo
  const own = { Update: { TableName, Key: recordKey(queue), ...update } }
  const deletes = rows.map((row) =>
    rewritten(TableName, partitionOf(record), { ...row, entries: [] }),
  )
  await engine.dynamo.transact({ TransactItems: [own, ...deletes] }, { isBrief: true })
  // Whether this write or another one passed: go by the record as it is now.
  return readRecord(engine, queue)
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
  const written = await engine.dynamo.update(recordKey(queue), update)
  return written.kind === 'unknown' ? readRecord(engine, queue) : seen(engine, queue, written.row)
}
