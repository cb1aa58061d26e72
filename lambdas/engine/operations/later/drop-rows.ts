import type { QueueRecord } from '../../core/record.ts'
import { behind, partitionOf, scheduledRows } from '../../store/scheduled-rows.ts'
import type { Engine } from '../attempts/engine.ts'
import { discardBatch } from '../lanes/entries.ts'

/** Deletes rows that have joined. If this fails, the next join that reads them tries again. */
export async function deleteTaken(
  engine: Engine,
  record: QueueRecord,
  rows: readonly { readonly sk: string }[],
): Promise<void> {
  if (rows.length === 0) return
  const partition = partitionOf(record)
  await engine.dynamo
    .deleteMany(rows.map(({ sk }) => ({ pk: partition, sk })))
    .catch((error: unknown) => {
      engine.onBackgroundError(error, { queue: record.queue, step: 'delete-scheduled' })
    })
}

export async function dropBatches(
  engine: Engine,
  queue: string,
  references: readonly string[],
): Promise<void> {
  for (const entry of references) await discardBatch(engine, queue, entry)
}

/** Rows a query. */
const PAGE = 100
/** 20,000 rows, as a purge deletes. */
const PAGES_MAX = 200

/** Of a queue that is about to be forgotten: rows that have joined, and were left behind. */
export async function dropJoinedRows(engine: Engine, record: QueueRecord): Promise<void> {
  const { joinedTo } = record.scheduled
  if (joinedTo !== undefined) await dropRowsTo(engine, record, joinedTo)
}

/** Of a queue that is forgotten, in which nothing was scheduled: rows that an earlier version left empty. */
export async function dropAllRows(engine: Engine, record: QueueRecord): Promise<void> {
  if (record.scheduled.seals > 0) await dropRowsTo(engine, record, '~')
}

async function dropRowsTo(engine: Engine, record: QueueRecord, to: string): Promise<void> {
  let from = ''
  for (let page = 1; page <= PAGES_MAX && from <= to; page += 1) {
    const range = { from, to, limit: PAGE }
    const { rows, more } = await scheduledRows(engine.dynamo, partitionOf(record), range)
    await deleteTaken(engine, record, rows)
    const last = rows.at(-1)
    if (!more || last === undefined) return
    // Further on, whether or not they could be deleted.
    from = behind(last.sk)
  }
}
