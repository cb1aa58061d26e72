import { obstacleTo } from '../core/append.ts'
import { checkQueueId, recordKey } from '../core/keys.ts'
import { doneLocks } from '../core/locks.ts'
import { checkPush } from '../core/push-request.ts'
import type { PushItem, TransactItem } from '../queues.ts'
import { appendUpdate } from '../store/append-update.ts'
import { ensureLane, queueFull, sealQuietly } from './append.ts'
import { type Engine, readRecord, remindAtMs, tailLimits } from './engine.ts'
import { foldForRoom } from './fold.ts'
import { passLimit } from './pass-limit.ts'
import { prepare } from './push.ts'

/**
 * One entry for the caller's own TransactWriteItems, so that an item is pushed exactly when the
 * caller's own row is written. A large item's batch is written beforehand, and stays a stray if the
 * transaction never comes. Should the entry's condition fail (the tail filled up, the lane was
 * dropped), nothing happened: ask for a new entry and try again.
 */
export async function pushTransactItem(
  engine: Engine,
  queue: string,
  item: PushItem,
): Promise<TransactItem> {
  checkQueueId(queue)
  checkPush([item])
  // What is remembered of the queue may be of one that was forgotten since.
  engine.memory.delete(queue)
  await ensureLane(engine, queue, item.priority ?? 0)
  let record = await readRecord(engine, queue)
  if (record !== undefined && record.room < 1 && doneLocks(record) > 0) {
    record = await foldForRoom(engine, record)
  }
  if (record !== undefined && record.room < 1) throw queueFull(queue, record)
  const admitted = record !== undefined && (await passLimit(engine, 'push', record, undefined))
  const { addition } = await prepare(engine, queue, [item])
  const obstacle = obstacleTo(addition, record, tailLimits(engine))
  if (obstacle.kind === 'tail-full' && record !== undefined) await sealQuietly(engine, record)
  return {
    Update: {
      TableName: engine.dynamo.tableName,
      Key: recordKey(queue),
      ExpressionAttributeNames: {},
      ...appendUpdate(addition, tailLimits(engine), { admitted, remindAtMs: remindAtMs(engine) }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  }
}
