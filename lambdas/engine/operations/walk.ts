import { queueOfRecordKey, recordKey } from '../core/keys.ts'
import { SHARDS } from '../core/limits.ts'
import type { QueueRecord } from '../core/record.ts'
import { queuesIn } from './directory.ts'
import { type Engine, seen } from './engine.ts'

/** As many as one BatchGetItem reads. */
const PAGE_QUEUES = 100

/** How far a walk through all queues has come. */
export type WalkPlace = { readonly shard: number; readonly after?: string }

export const walkStart: WalkPlace = { shard: 0 }

export type WalkPage = {
  readonly records: readonly QueueRecord[]
  /** Where to go on; nothing behind the last queue. */
  readonly next: WalkPlace | undefined
}

/** The records of the next queues, shard by shard: one query and one read of a hundred. */
export async function walkOn(
  engine: Engine,
  prefix: string,
  { shard, after }: WalkPlace,
): Promise<WalkPage> {
  const queues = await queuesIn(engine, shard, { prefix, after, limit: PAGE_QUEUES })
  const rows = await engine.dynamo.getMany(queues.map(recordKey), true)
  const records = rows
    .map((row) => seen(engine, queueOfRecordKey(row.pk as string), row))
    .filter((record) => record !== undefined)
  const last = queues.at(-1)
  const isOver = queues.length < PAGE_QUEUES || last === undefined
  if (!isOver) return { records, next: { shard, after: last } }
  return { records, next: shard + 1 < SHARDS ? { shard: shard + 1 } : undefined }
}
