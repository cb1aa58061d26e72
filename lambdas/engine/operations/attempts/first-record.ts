import type { StoredRecord } from '../../core/stored-record.ts'
import { again, asStored, done, doubt, type Outcome } from './decision.ts'
import { type Engine, outcomeUnknown, readRecord, seen } from './engine.ts'

/** Puts a queue's first record, unless it has one. Only this call knows `born`: it decides a lost answer. */
export async function putFirst<T>(
  engine: Engine,
  queue: string,
  item: StoredRecord,
  landed: () => T | Promise<T>,
): Promise<Outcome<T>> {
  const written = await engine.dynamo.put({
    Item: item,
    ConditionExpression: 'attribute_not_exists(pk)',
  })
  if (written.kind === 'done') return done(await landed())
  if (written.kind === 'failed') return again(asStored(seen(engine, queue, written.row)))
  return doubt(written.cause, async () => {
    const current = await readRecord(engine, queue)
    if (current?.born !== item.born) throw outcomeUnknown(queue, written.cause)
    return done(await landed())
  })
}
