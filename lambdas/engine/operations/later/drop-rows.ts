import type { QueueRecord } from '../../core/record.ts'
import { behind, partitionOf, scheduledRows } from '../../store/scheduled-rows.ts'
import type { Engine } from '../attempts/engine.ts'
import { discardBatch } from '../lanes/entries.ts'

/** Rows that have joined. Should this fail, whoever meets them deletes them. */
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

/** Of a queue that is forgotten: rows that have joined, and were left behind. */
export async function dropJoinedRows(engine: Engine, record: QueueRecord): Promise<void> {
  if (record.scheduled.joinedTo === undefined) return
  const to = record.scheduled.joinedTo
  let from = ''
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const range = { from, to, limit: PAGE }
    const { rows } = await scheduledRows(engine.dynamo, partitionOf(record), range)
    const last = rows.at(-1)
    if (last === undefined) return
    await deleteTaken(engine, record, rows)
    // Further on, whether or not they could be deleted.
    from = behind(last.sk)
  }
}
