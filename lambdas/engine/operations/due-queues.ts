import type { Row } from '../../foundation/dynamo.ts'
import { CHECK_INDEX } from '../../foundation/table.ts'
import { queueOfRecordKey, recordKey } from '../core/keys.ts'
import { SHARDS } from '../core/limits.ts'
import type { Engine } from './engine.ts'

/** As many as one BatchGetItem reads. */
const PAGE_QUEUES = 100

/** Queues whose timer has come, with their rows as they are now; absent where one is gone. */
export type DueQueues = ReadonlyMap<string, Row | undefined>

export const allShards: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

/**
 * Shard by shard, the earliest timer of each first. It begins with another shard each time, so that a
 * run which must stop starves none of them.
 */
export async function* dueQueues(
  engine: Engine,
  shards: readonly number[],
): AsyncGenerator<DueQueues> {
  const first = Math.floor(engine.random() * shards.length)
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
    let from: Row | undefined
    do {
      const { rows, next } = await engine.dynamo.query({
        IndexName: CHECK_INDEX,
        KeyConditionExpression: '#s=:s AND checkAt<=:now',
        ExpressionAttributeNames: { '#s': 'shard' },
        ExpressionAttributeValues: { ':s': shard, ':now': engine.clock.nowMs() },
        Limit: PAGE_QUEUES,
        ...(from !== undefined && { ExclusiveStartKey: from }),
      })
      const queues = rows.map((row) => queueOfRecordKey(row.pk as string))
      if (queues.length > 0) yield await rowsOf(engine, queues)
      from = next
    } while (from !== undefined)
  }
}

async function rowsOf(engine: Engine, queues: readonly string[]): Promise<DueQueues> {
  const rows = await engine.dynamo.getMany(queues.map(recordKey), true)
  const byQueue = new Map<string, Row | undefined>(queues.map((queue) => [queue, undefined]))
  for (const row of rows) byQueue.set(queueOfRecordKey(row.pk as string), row)
  return byQueue
}
