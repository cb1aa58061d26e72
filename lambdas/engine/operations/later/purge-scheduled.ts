import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled } from '../../core/scheduled.ts'
import { partitionOf, scheduledRows } from '../../store/scheduled-rows.ts'
import { takeUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'
import { deleteTaken, dropBatches } from './drop-rows.ts'

/** Rows a query, and queries of one purge: what is left then are strays, which cost storage only. */
const PAGE = 100
const PAGES_MAX = 200

/**
 * Takes out all that is scheduled, by one write: rows belong to an era of their queue, and another begins. The rows of
 * the last one are deleted after that.
 */
export async function purgeScheduled(
  engine: Engine,
  record: QueueRecord,
): Promise<{ readonly record: QueueRecord | undefined; readonly items: number }> {
  const { queue, scheduled } = record
  const places = [...scheduled.entries.keys()]
  const { items, bytes, era } = scheduled
  const update = takeUpdate(record, { places, items, bytes, nextDue: undefined }, (one) => {
    one.set('te', era + 1)
    one.removes.push('tj')
  })
  const written = await engine.dynamo.update(recordKey(queue), update)
  const isLost = written.kind === 'unknown'
  const after = isLost ? await readRecord(engine, queue) : seen(engine, queue, written.row)
  const isDone = isLost
    ? after?.born === record.born && after.scheduled.era === era + 1
    : written.kind === 'done'
  if (!isDone) return { record: after, items: 0 }
  await dropBatches(engine, queue, referencesIn(scheduled.entries))
  await dropRows(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'purge-scheduled' })
  })
  return { record: after, items }
}

async function dropRows(engine: Engine, record: QueueRecord): Promise<void> {
  if (record.scheduled.seals === 0) return
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { rows } = await scheduledRows(engine.dynamo, partitionOf(record), { limit: PAGE })
    if (rows.length === 0) return
    const { joinedTo = '' } = record.scheduled
    // What has joined is in a lane: its batch stays.
    const entries = rows.flatMap(({ sk, entries: of }) => (sk > joinedTo ? of : []))
    await dropBatches(engine, record.queue, referencesIn(entries))
    await deleteTaken(engine, record, rows)
  }
}

const referencesIn = (entries: readonly string[]): string[] =>
  entries.map((entry) => decodeScheduled(entry).entry).filter(isReference)
