import { isQuiet } from '../../core/fence.ts'
import { recordKey } from '../../core/keys.ts'
import { KNOWN_FORMAT } from '../../store/record-update.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { moveNotes } from '../lanes/seal.ts'
import { housekeepAll } from './housekeep.ts'

const ATTEMPTS_MAX = 3

/**
 * Deletes what an empty queue has left in rows and S3, and then its record. Its timer stays due, so the
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

/** We remember a key for its full time, whatever becomes of the queue. */
async function keepReceipts(engine: Engine, queue: string): Promise<void> {
  const record = engine.memory.get(queue) ?? (await readRecord(engine, queue))
  if (record !== undefined) await moveNotes(engine, record)
}

/** Deletes it on condition that nothing at all has happened since we saw it empty. */
async function deleteRecord(engine: Engine, queue: string): Promise<boolean> {
  const record = await readRecord(engine, queue)
  if (record === undefined) return true
  // Somebody used the queue meanwhile, and it is empty again: callers may still ask about its last lock.
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
