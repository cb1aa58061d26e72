import type { Row } from '../../foundation/dynamo.ts'
import { checkLimit } from '../core/check-limit.ts'
import { queueOfRecordKey, recordKey } from '../core/keys.ts'
import { PAGE_DEFAULT, QUEUES_PER_PAGE_MAX } from '../core/limits.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import { badCursor, countIn } from '../core/views.ts'
import type { QueuePage } from '../verbs.ts'
import { checkPrefix, isPrefix, queuesIn } from './directory.ts'
import { allShards } from './due-queues.ts'
import type { Engine } from './engine.ts'

/** Queues by name, a page at a time: each shard has its own in order, and this merges them. */
export async function list(
  engine: Engine,
  {
    prefix = '',
    limit = PAGE_DEFAULT,
    cursor,
  }: { readonly prefix?: string; readonly limit?: number; readonly cursor?: string } = {},
): Promise<QueuePage> {
  checkPrefix(prefix)
  checkLimit(limit, QUEUES_PER_PAGE_MAX)
  const after = cursor === undefined ? undefined : decodeListCursor(cursor, prefix)
  // One more than asked for tells whether there is another page.
  const shards = await Promise.all(
    allShards.map((shard) => queuesIn(engine, shard, { prefix, after, limit: limit + 1 })),
  )
  const found = shards.flat().sort()
  const queues = found.slice(0, limit)
  const counts = await countsOf(engine, queues)
  const last = queues.at(-1)
  return {
    queues: queues
      .map((queue) => ({ queue, count: counts.get(queue) }))
      .map(({ queue, count }) => (count === undefined ? { queue } : { queue, count })),
    ...(found.length > limit && last !== undefined && { cursor: encodeListCursor(last) }),
  }
}

/**
 * Without a count: one that the store does not give just now, or whose record this engine cannot read.
 * It is still in the list, and so are all others.
 */
async function countsOf(
  engine: Engine,
  queues: readonly string[],
): Promise<ReadonlyMap<string, number | undefined>> {
  const { rows, unread } = await engine.dynamo.getReadable(queues.map(recordKey), false)
  if (unread !== undefined && rows.length === 0) throw unread.error
  // The index may still name a queue that was forgotten: that one has no row.
  const counts = new Map<string, number | undefined>(queues.map((queue) => [queue, 0]))
  for (const { pk } of unread?.keys ?? []) counts.set(queueOfRecordKey(pk), undefined)
  for (const row of rows) {
    const queue = queueOfRecordKey(row.pk as string)
    counts.set(queue, countOfRow(engine, queue, row))
  }
  return counts
}

function countOfRow(engine: Engine, queue: string, row: Row): number | undefined {
  try {
    return countIn(decodeRecord(row as StoredRecord))
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'list' })
    return undefined
  }
}

const encodeListCursor = (queue: string): string => Buffer.from(queue).toString('base64url')

function decodeListCursor(cursor: string, prefix: string): string {
  const queue = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!isPrefix(queue) || queue === '' || !queue.startsWith(prefix)) throw badCursor()
  return queue
}
