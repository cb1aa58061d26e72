import { recordKey } from '../../core/keys.ts'
import type { Later } from '../../core/later.ts'
import { SCHEDULED_SOFT_BYTES } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { scheduledBytes } from '../../core/scheduled.ts'
import { placesToSeal } from '../../core/to-seal.ts'
import { partitionOf, rowsToSeal, storedRow, unseenStill } from '../../store/scheduled-rows.ts'
import { seenUpdate, takeUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, remember, seen } from '../attempts/engine.ts'

/** Seals that lose to other writes. After so many, the next push that crosses a line tries again. */
const ROUNDS_MAX = 4
/** Rows of transactions that hang: with so many, entries stay in the record, which names each of these rows. */
const UNSEEN_MAX = 100
/** Names of rows that stay in the record until the next seal reads them, some ten bytes each: a write costs more. */
const UNSEEN_LEFT = 3

/**
 * Copies the scheduled entries of the record out to rows, one a second, and takes them out of it, in one transaction:
 * so no row exists that does not count. It takes all that it sees, which is what makes ids lead to few rows. Returns
 * the record as far as it is known then.
 */
export async function sealLater(
  engine: Engine,
  first: QueueRecord,
): Promise<QueueRecord | undefined> {
  let record: QueueRecord | undefined = first
  for (let round = 1; round <= ROUNDS_MAX && record !== undefined; round += 1) {
    if (record.scheduled.entries.length === 0) return record
    const sealed = await sealOnce(engine, record)
    if (sealed !== undefined) return sealed
    record = await readRecord(engine, record.queue)
  }
  return record
}

async function sealOnce(engine: Engine, record: QueueRecord): Promise<QueueRecord | undefined> {
  const { queue, scheduled } = record
  const places = placesToSeal(record, engine.clock.nowMs())
  if (places.length === 0) return record
  const rows = rowsToSeal(record, places)
  const unseenBefore = await unseenStill(engine.dynamo, record)
  if (unseenBefore.length > UNSEEN_MAX) return record
  const unseen = [...unseenBefore, ...rows.map(({ sk }) => sk)]
  let bytes = 0
  for (const place of places) bytes += scheduledBytes(scheduled.entries[place] as string)
  const dues = rows.map(({ due }) => due)
  if (scheduled.nextDue !== undefined) dues.push(scheduled.nextDue)
  const taken = { places, items: 0, bytes, nextDue: Math.min(...dues), unseen }
  const update = takeUpdate(record, taken, (one) => one.set('tg', scheduled.seals + 1))
  const { tableName } = engine.dynamo
  const partition = partitionOf(record)
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName: tableName, Key: recordKey(queue), ...update } },
      ...rows.map((row) => ({ Put: { TableName: tableName, Item: storedRow(partition, row) } })),
    ],
  })
  if (transacted.kind !== 'done') return undefined
  // DynamoDB does not hand over what a transaction wrote. Others may have written too: it is a memory, not a reading.
  const after: QueueRecord = {
    ...record,
    scheduled: {
      ...scheduled,
      entries: scheduled.entries.filter((_, place) => !places.includes(place)),
      bytes: scheduled.bytes - bytes,
      seals: scheduled.seals + 1,
      changes: scheduled.changes + 1,
      nextDue: taken.nextDue,
      unseen,
    },
  }
  remember(engine, after)
  if (unseen.length <= UNSEEN_LEFT) return after
  // What was answered can be read.
  const written = await engine.dynamo.update(recordKey(queue), seenUpdate(after, unseenBefore))
  return written.kind === 'unknown' ? after : seen(engine, queue, written.row)
}

/** The push that carried the record's entries over a line seals them: exactly one crosses each. */
export async function sealLaterAfter(
  engine: Engine,
  record: QueueRecord,
  later: Later | undefined,
): Promise<void> {
  if (later === undefined) return
  const { bytes } = record.scheduled
  const line = (at: number): number => Math.floor(at / SCHEDULED_SOFT_BYTES)
  if (line(bytes) > line(bytes - later.bytes)) await sealLaterQuietly(engine, record)
}

/** A push is answered by its append alone: a seal that fails is left to the next one. */
export async function sealLaterQuietly(engine: Engine, record: QueueRecord): Promise<void> {
  await sealLater(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal-scheduled' })
  })
}
