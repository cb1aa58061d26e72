import { recordKey } from '../../core/keys.ts'
import type { Later } from '../../core/later.ts'
import { SCHEDULED_SOFT_BYTES } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { partitionOf, rowsToSeal, storedRow } from '../../store/scheduled-rows.ts'
import { takeUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, remember } from '../attempts/engine.ts'

/** Seals that lose to other writes. After so many, the next push that crosses a line tries again. */
const ROUNDS_MAX = 4

/**
 * Copies the scheduled entries of the record out to rows, one a second, and takes them out of it, in one transaction:
 * so no row exists that does not count. It takes all that it sees, which is what makes ids lead to few rows. Returns
 * the record as far as it is known then.
 */
export async function sealLater(
  engine: Engine,
  seen: QueueRecord,
): Promise<QueueRecord | undefined> {
  let record: QueueRecord | undefined = seen
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
  const { places, rows, bytes } = rowsToSeal(record)
  if (rows.length === 0) return record
  const dues = rows.map(({ due }) => due)
  if (scheduled.nextDue !== undefined) dues.push(scheduled.nextDue)
  const nextDue = Math.min(...dues)
  const taken = {
    places,
    items: 0,
    bytes,
    nextDue,
  }
  const seals = scheduled.seals + 1
  const update = takeUpdate(record, taken, (one) => one.set('tg', seals))
  const { tableName } = engine.dynamo
  const partition = partitionOf(record)
  const transacted = await engine.dynamo.transact({
    TransactItems: [
      { Update: { TableName: tableName, Key: recordKey(queue), ...update } },
      ...rows.map((row) => ({ Put: { TableName: tableName, Item: storedRow(partition, row) } })),
    ],
  })
  if (transacted.kind !== 'done') return undefined
  const changes = scheduled.changes + 1
  const left = scheduled.entries.filter((_, place) => !places.includes(place))
  // DynamoDB does not hand over what a transaction wrote. Others may have written too: it is a memory, not a reading.
  const after: QueueRecord = {
    ...record,
    scheduled: {
      ...scheduled,
      entries: left,
      bytes: scheduled.bytes - bytes,
      seals,
      changes,
      nextDue,
    },
  }
  remember(engine, after)
  return after
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
