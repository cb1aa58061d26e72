import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, purgedMark } from '../../core/scheduled.ts'
import { patiently } from '../../core/timers.ts'
import { purgeUpdate } from '../../store/scheduled-updates.ts'
import { busy, type Engine, readRecord, seen } from '../attempts/engine.ts'
import { dropPurged } from './drop-purged.ts'
import { dropBatches } from './drop-rows.ts'

/** Purges that a record names because their rows are not gone yet, some 25 bytes each. */
const PURGED_MAX = 16
/** How long a purge deletes rows, some thousands, before it answers. The sweeper's housekeeping deletes the rest. */
const DROP_MS = 5_000

/**
 * Takes out all that is scheduled, by one write: rows belong to an era of their queue, and another begins. The record
 * names the old one until its rows are deleted, which may take long.
 */
export async function purgeScheduled(
  engine: Engine,
  record: QueueRecord,
): Promise<{ readonly record: QueueRecord | undefined; readonly items: number }> {
  const { queue, scheduled } = record
  const { items, era } = scheduled
  const { clock } = engine
  if (scheduled.purged.length >= PURGED_MAX) {
    if (!(await dropPurged(engine, record, clock.nowMs() + DROP_MS))) throw busy(queue)
    return { record: await readRecord(engine, queue), items: 0 }
  }
  const timer = { atMs: patiently(clock.nowMs() + HOUSEKEEPING_RETRY_MS), nowMs: clock.nowMs() }
  const mark = scheduled.seals > 0 ? purgedMark(scheduled) : undefined
  const written = await engine.dynamo.update(recordKey(queue), purgeUpdate(record, mark, timer))
  const isLost = written.kind === 'unknown'
  const after = isLost ? await readRecord(engine, queue) : seen(engine, queue, written.row)
  const isDone = isLost
    ? after?.born === record.born && after.scheduled.era === era + 1
    : written.kind === 'done'
  if (!isDone) return { record: after, items: 0 }
  await dropBatches(engine, queue, referencesIn(scheduled.entries))
  return { record: after, items }
}

/** What the purge has left in rows, once its lanes are empty. It is answered all the same. */
export async function dropPurgedQuietly(
  engine: Engine,
  record: QueueRecord | undefined,
): Promise<void> {
  if (record === undefined || record.scheduled.purged.length === 0) return
  const untilMs = engine.clock.nowMs() + DROP_MS
  await dropPurged(engine, record, untilMs).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'purge-scheduled' })
  })
}

const referencesIn = (entries: readonly string[]): string[] =>
  entries.map((entry) => decodeScheduled(entry).entry).filter(isReference)
