import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, purgedEra } from '../../core/scheduled.ts'
import {
  PURGED_SORT_KEY,
  partitionOf,
  rowOf,
  type ScheduledRow,
  scheduledRows,
} from '../../store/scheduled-rows.ts'
import { forgetPurgedUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'
import { dropBatches } from '../lanes/entries.ts'

/** Rows a query: as many as one request deletes. We check the time after each. */
const PAGE = 25

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
    const written = await engine.dynamo.update(recordKey(queue), forgetPurgedUpdate(record, mark))
    // We or another process may have removed it; go by what the record names now.
    record =
      written.kind === 'unknown'
        ? await readRecord(engine, queue)
        : seen(engine, queue, written.row)
    if (engine.clock.nowMs() >= untilMs) return (record?.scheduled.purged ?? []).length === 0
  }
}

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
  rows: readonly ScheduledRow[],
): Promise<void> {
  const entries = rows.flatMap((row) => row.entries)
  const batches = entries.map((entry) => decodeScheduled(entry).entry).filter(isReference)
  await dropBatches(engine, queue, batches)
}
