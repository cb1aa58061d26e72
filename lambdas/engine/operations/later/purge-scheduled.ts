import type { Written } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import { isReference } from '../../core/entry.ts'
import { recordKey } from '../../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, purgedMark } from '../../core/scheduled.ts'
import { patiently } from '../../core/timers.ts'
import { PURGED_SORT_KEY, partitionOf, storedRow } from '../../store/scheduled-rows.ts'
import { purgeUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, outcomeUnknown, readInDoubt, readRecord, seen } from '../attempts/engine.ts'
import { dropPurged } from './drop-purged.ts'

/** Purges that a record names because their rows are not gone yet, some 25 bytes each. */
const PURGED_MAX = 16
/** How long a purge deletes rows, some thousands, before it answers. The sweeper's housekeeping deletes the rest. */
const DROP_MS = 5_000

/**
 * By how much a purge raises the era, at the most. Each call draws its own number and keeps it, so the record tells
 * whose purge it was where an answer is lost.
 */
const ERA_STEP_MAX = 1_000_000
export const eraStep = ({ random }: Engine): number => 1 + Math.floor(random() * ERA_STEP_MAX)

/** `too-many`: the record names as many purges as it may, and their rows take longer. */
type Purged = {
  readonly kind: 'done' | 'again' | 'too-many'
  readonly record: QueueRecord | undefined
  readonly items: number
  /** The answer was lost, and the write may still land. */
  readonly open?: { readonly cause: unknown }
}

/**
 * Takes out all scheduled items by one write: rows belong to an era of their queue, and this begins another. The record
 * names the old one until its rows are deleted, which may take long. The same write puts the batches that the record's
 * own entries name into a row of that era. So a process that dies leaves none of them, and a purge that was not written
 * deletes none.
 */
export async function purgeScheduled(
  engine: Engine,
  record: QueueRecord,
  step: number,
): Promise<Purged> {
  const { queue, born, scheduled } = record
  const { clock } = engine
  if (scheduled.purged.length >= PURGED_MAX) {
    const isDropped = await dropPurged(engine, record, clock.nowMs() + DROP_MS)
    const kind = isDropped ? 'again' : 'too-many'
    return { kind, record: await readRecord(engine, queue), items: 0 }
  }
  const era = scheduled.era + step
  const written = await write(engine, record, era)
  const isLost = written.kind === 'unknown'
  const row = isLost ? undefined : written.row
  // A transaction does not hand over the record.
  const after = row === undefined ? await readInDoubt(engine, queue) : seen(engine, queue, row)
  const isSame = after?.born === born
  // A refusal may have met our own purge, sent before, whose answer was lost.
  if (written.kind === 'done' || (isSame && after.scheduled.era === era)) {
    return { kind: 'done', record: after, items: scheduled.items }
  }
  if (!isLost) return { kind: 'again', record: after, items: 0 }
  // Another purge was first, or came after ours.
  if (!isSame || after.scheduled.era !== scheduled.era) throw outcomeUnknown(queue, written.cause)
  return { kind: 'again', record: after, items: 0, open: { cause: written.cause } }
}

async function write(engine: Engine, record: QueueRecord, era: number): Promise<Written> {
  const { queue, scheduled } = record
  const { dynamo, clock } = engine
  const [key, nowMs] = [recordKey(queue), clock.nowMs()]
  const entries = scheduled.entries.filter((entry) => isReference(decodeScheduled(entry).entry))
  const timer = { atMs: patiently(nowMs + HOUSEKEEPING_RETRY_MS), nowMs }
  const mark = scheduled.seals + entries.length > 0 ? purgedMark(scheduled) : undefined
  const update = purgeUpdate(record, era, mark, timer)
  if (entries.length === 0) return dynamo.update(key, update)
  const { tableName: TableName } = dynamo
  const Item = storedRow(partitionOf(record), { sk: PURGED_SORT_KEY, entries })
  const transacted = await dynamo.transact({
    TransactItems: [{ Update: { TableName, Key: key, ...update } }, { Put: { TableName, Item } }],
  })
  return transacted.kind === 'unknown' ? transacted : { kind: transacted.kind, row: undefined }
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
