import { queueOfRecordKey, recordKey } from '../../core/keys.ts'
import { SHARDS } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type Engine, seen } from '../attempts/engine.ts'
import { queuesIn } from './directory.ts'

/** As many as one BatchGetItem reads. */
const PAGE_QUEUES = 100

/** How far a walk through all queues has come. */
export type WalkPlace = { readonly shard: number; readonly after?: string }

export const walkStart: WalkPlace = { shard: 0 }

export type WalkPage = {
  readonly records: readonly QueueRecord[]
  /** Queues whose records the store does not return just now, or this engine cannot read. */
  readonly unread: readonly { readonly queue: string; readonly error: unknown }[]
  /** Where to go on; undefined after the last queue. */
  readonly next: WalkPlace | undefined
}

/**
 * The records of the next queues, shard by shard: one query and one read of a hundred. If a record cannot
 * be read, we name it and skip it, so that it does not block the walk.
 */
export async function walkOn(
  engine: Engine,
  prefix: string,
  { shard, after }: WalkPlace,
): Promise<WalkPage> {
  const queues = await queuesIn(engine, shard, { prefix, after, limit: PAGE_QUEUES })
  const { rows, unread: missing } = await engine.dynamo.getReadable(queues.map(recordKey), true)
  const unread = (missing?.keys ?? []).map(({ pk }) => ({
    queue: queueOfRecordKey(pk),
    error: missing?.error,
  }))
  const records: QueueRecord[] = []
  for (const row of rows) {
    const queue = queueOfRecordKey(row.pk as string)
    try {
      const record = seen(engine, queue, row)
      if (record !== undefined) records.push(record)
    } catch (error) {
      unread.push({ queue, error })
    }
  }
  const last = queues.at(-1)
  const isOver = queues.length < PAGE_QUEUES || last === undefined
  if (!isOver) return { records, unread, next: { shard, after: last } }
  return { records, unread, next: walkToNextShard({ shard }) }
}

export const walkToNextShard = ({ shard }: WalkPlace): WalkPlace | undefined =>
  shard + 1 < SHARDS ? { shard: shard + 1 } : undefined
