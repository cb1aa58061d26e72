import { forgettableAtMs, isForgettable } from '../../core/fence.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { KNOWN_FORMAT } from '../../store/record-update.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { moveNotes } from '../lanes/seal.ts'
import { housekeepAll } from './housekeep.ts'

const ATTEMPTS_MAX = 3

/** Empty, and nothing comes any more that asks what was in it. */
export const isQuiet = (record: QueueRecord, nowMs: number): boolean =>
  isForgettable(record) && nowMs >= forgettableAtMs(record)

/**
 * Takes away what an empty queue has left in rows and S3, and then its record. Its timer stays due: the
 * next sweep does what a few rounds could not.
 */
export async function forget(engine: Engine, queue: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await readRecord(engine, queue)
    if (record === undefined || !isQuiet(record, engine.clock.nowMs())) return
    await housekeepAll(engine, queue, record, { dropEmpty: true })
    await keepReceipts(engine, queue)
    if (await deleteRecord(engine, queue)) return
  }
}

/** A key is remembered for its time, whatever becomes of the queue. */
async function keepReceipts(engine: Engine, queue: string): Promise<void> {
  const record = engine.memory.get(queue) ?? (await readRecord(engine, queue))
  if (record !== undefined) await moveNotes(engine, record)
}

/** On the condition that nothing at all happened since it was seen to be empty. */
async function deleteRecord(engine: Engine, queue: string): Promise<boolean> {
  const record = await readRecord(engine, queue)
  if (record === undefined) return true
  // Used meanwhile, and empty again: its last ended lock is news once more.
  if (record.lanes.size > 0 || record.notes.size > 0 || !isQuiet(record, engine.clock.nowMs()))
    return false
  const asSeen = `${KNOWN_FORMAT} AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`
  const sequenceAsSeen = record.sequence === undefined ? 'attribute_not_exists(sn)' : 'sn=:sn'
  const written = await engine.dynamo.delete({
    Key: recordKey(queue),
    ConditionExpression: `${asSeen} AND ${sequenceAsSeen}`,
    ExpressionAttributeValues: {
      ':v': record.version,
      ':born': record.born,
      ':a': record.appends,
      ':c': record.claims,
      ':n': record.lanesMade,
      ...(record.sequence !== undefined && { ':sn': record.sequence }),
    },
  })
  engine.memory.delete(queue)
  if (written.kind === 'unknown') throw written.cause
  return written.kind === 'done'
}
