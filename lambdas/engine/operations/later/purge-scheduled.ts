import type { Transacted, Written } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, purgedMark } from '../../core/scheduled.ts'
import { patiently } from '../../core/timers.ts'
import { PURGED_SORT_KEY, partitionOf, storedRow } from '../../store/scheduled-rows.ts'
import { purgeUpdate } from '../../store/scheduled-updates.ts'
import type { Engine } from '../attempts/engine.ts'
import { dropPurged } from './drop-purged.ts'

/** Purges that a record names because their rows are not gone yet, some 25 bytes each. */
const PURGED_MAX = 16
/** How long a purge deletes rows, some thousands, before it answers. The sweeper's housekeeping deletes the rest. */
const DROP_MS = 5_000

type Purged =
  | { readonly kind: 'done'; readonly items: number }
  /** Other writes came first. */
  | { readonly kind: 'again' }
  /** The record names as many purges as it may, and their rows take longer. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'unknown'; readonly cause: unknown }

/**
 * Takes out all scheduled items by one write: rows belong to an era of their queue, and this begins another. The record
 * names the old one until its rows are deleted, which may take long. The same write puts the batches that the record's
 * own entries name into a row of that era. So a process that dies leaves none of them, and a purge that was not written
 * deletes none.
 */
export async function purgeScheduled(engine: Engine, record: QueueRecord): Promise<Purged> {
  const { scheduled } = record
  if (scheduled.purged.length >= PURGED_MAX) {
    const isDropped = await dropPurged(engine, record, engine.clock.nowMs() + DROP_MS)
    return { kind: isDropped ? 'again' : 'too-many' }
  }
  const written = await write(engine, record)
  if (written.kind === 'unknown') return written
  return written.kind === 'done' ? { kind: 'done', items: scheduled.items } : { kind: 'again' }
}

/** After a lost answer: this record's items are out, by our write or another's. */
export const arePurged = (before: QueueRecord, now: QueueRecord | undefined): boolean =>
  now?.born === before.born && now.scheduled.era === before.scheduled.era + 1

async function write(engine: Engine, record: QueueRecord): Promise<Written | Transacted> {
  const { queue, scheduled } = record
  const { dynamo, clock } = engine
  const [key, nowMs] = [recordKey(queue), clock.nowMs()]
  const entries = scheduled.entries.filter((entry) => isReference(decodeScheduled(entry).entry))
  const timer = { atMs: patiently(nowMs + HOUSEKEEPING_RETRY_MS), nowMs }
  const mark = scheduled.seals + entries.length > 0 ? purgedMark(scheduled) : undefined
  const update = purgeUpdate(record, mark, timer)
  if (entries.length === 0) return dynamo.update(key, update)
  const { tableName: TableName } = dynamo
  const Item = storedRow(partitionOf(record), { sk: PURGED_SORT_KEY, entries })
  return dynamo.transact({
    TransactItems: [{ Update: { TableName, Key: key, ...update } }, { Put: { TableName, Item } }],
  })
}

export const tooManyPurges = (queue: string): QueueError =>
  new QueueError(
    'BUSY',
    `Cannot empty what is scheduled in queue "${queue}" yet because the rows of ${PURGED_MAX} earlier purges are still being deleted`,
  )

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
