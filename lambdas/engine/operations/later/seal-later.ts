import { recordKey } from '../../core/keys.ts'
import type { Later } from '../../core/later.ts'
import { SCHEDULED_SOFT_BYTES } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { scheduledBytes } from '../../core/scheduled.ts'
import { placesToSeal } from '../../core/to-seal.ts'
import { partitionOf, rowsToSeal, storedRow, unseenStill } from '../../store/scheduled-rows.ts'
import { seenUpdate, takeUpdate } from '../../store/scheduled-updates.ts'
import { type Engine, readRecord, remember, seen } from '../attempts/engine.ts'

/** After so many seals that lose to other writes, we leave it to the next push that crosses a line. */
const ROUNDS_MAX = 4
/** The record names each row of a transaction that hangs. With so many, further entries stay in the record. */
const UNSEEN_MAX = 100
/** So many row names may stay until the next seal reads the rows: at some ten bytes each, a write would cost more. */
const UNSEEN_LEFT = 3

/**
 * Copies the record's scheduled entries out to rows, one for each second in which items are due, and removes them from
 * the record, in one transaction: so every row counts. It takes all entries that it sees, so that an id leads to few
 * rows. Returns the record as far as we know it then.
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
  // DynamoDB does not return what a transaction wrote, and others may have written too: so this is only an assumption.
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
  // Once DynamoDB has answered, reads show the new rows.
  const written = await engine.dynamo.update(recordKey(queue), seenUpdate(after, unseenBefore))
  return written.kind === 'unknown' ? after : seen(engine, queue, written.row)
}

/** The push that carried the record's entries over a line seals them. Exactly one push crosses each line. */
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

/** The append alone decides a push's answer. If the seal fails, the next one makes up for it. */
export async function sealLaterQuietly(engine: Engine, record: QueueRecord): Promise<void> {
  await sealLater(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal-scheduled' })
  })
}
