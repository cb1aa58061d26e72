import { QueueError } from '../../../foundation/errors.ts'
import { ID_RULE, isQueueId } from '../../../foundation/queue-id.ts'
import { badCursor } from '../../core/browse-place.ts'
import { checkLimit } from '../../core/check-limit.ts'
import { allShards, queueOfRecordKey, recordKey } from '../../core/keys.ts'
import { PAGE_DEFAULT, QUEUES_PER_PAGE_MAX } from '../../core/limits.ts'
import { decodeRecord, type StoredRecord } from '../../core/stored-record.ts'
import { countIn, detailOf } from '../../core/views.ts'
import type { ListRequest, QueuePage, QueueSummary } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { checkPrefix, isPrefix, queuesIn } from './directory.ts'

/** Queues by name, a page at a time: each shard has its queues in order, and this merges them. */
export async function list(engine: Engine, request: ListRequest = {}): Promise<QueuePage> {
  const { prefix = '', ids, detail = false, limit = PAGE_DEFAULT, cursor } = request
  if (ids !== undefined) {
    checkIds(request)
    return { queues: await summariesOf(engine, ids, { detail }) }
  }
  checkPrefix(prefix)
  checkLimit(limit, QUEUES_PER_PAGE_MAX)
  const after = cursor === undefined ? undefined : decodeListCursor(cursor, prefix)
  // One more than asked for tells whether there is another page.
  const shards = await Promise.all(
    allShards.map((shard) => queuesIn(engine, shard, { prefix, after, limit: limit + 1 })),
  )
  const found = shards.flat().sort()
  const queues = found.slice(0, limit)
  const last = queues.at(-1)
  return {
    // A page of one names its queue even if the record cannot be read, so that a walk of the list gets past it.
    queues: await summariesOf(engine, queues, { detail, mayBeUnread: limit === 1 }),
    ...(found.length > limit && last !== undefined && { cursor: encodeListCursor(last) }),
  }
}

function checkIds({ ids = [], prefix, limit, cursor }: ListRequest): void {
  if (!ids.every(isQueueId)) throw invalidIds(`must be queue ids, each ${ID_RULE}`)
  if (ids.length === 0 || ids.length > QUEUES_PER_PAGE_MAX) {
    throw invalidIds(`must be 1 to ${QUEUES_PER_PAGE_MAX} queue ids`)
  }
  if (new Set(ids).size < ids.length) throw invalidIds('must not name a queue twice')
  const others = { prefix, limit, cursor }
  const other = Object.entries(others).find(([, value]) => value !== undefined)
  if (other !== undefined) {
    throw invalidIds(`cannot go with ${other[0]}: name the queues, or list them by pages`)
  }
}

const invalidIds = (what: string): QueueError =>
  new QueueError('INVALID_PARAMETER', `ids ${what}`, { field: 'ids' })

/**
 * Made from the records alone. If the store does not return a record just now, or this engine cannot read it, the
 * list has its queue without a count, and all others with theirs.
 */
async function summariesOf(
  engine: Engine,
  queues: readonly string[],
  { detail, mayBeUnread = false }: { readonly detail: boolean; readonly mayBeUnread?: boolean },
): Promise<QueueSummary[]> {
  const { rows, unread } = await engine.dynamo.getReadable(queues.map(recordKey), false)
  if (unread !== undefined && rows.length === 0 && !mayBeUnread) throw unread.error
  const unreadable = new Set((unread?.keys ?? []).map(({ pk }) => queueOfRecordKey(pk)))
  const byQueue = new Map(rows.map((row) => [queueOfRecordKey(row.pk as string), row]))
  const nowMs = engine.clock.nowMs()
  return queues.map((queue) => {
    if (unreadable.has(queue)) return { queue }
    const row = byQueue.get(queue)
    try {
      // The index may still name a queue that was forgotten and has no row.
      const record = row && decodeRecord(row as StoredRecord)
      const count = record === undefined ? 0 : countIn(record)
      return detail ? { queue, count, detail: detailOf(record, nowMs) } : { queue, count }
    } catch (error) {
      engine.onBackgroundError(error, { queue, step: 'list' })
      return { queue }
    }
  })
}

const encodeListCursor = (queue: string): string => Buffer.from(queue).toString('base64url')

function decodeListCursor(cursor: string, prefix: string): string {
  const queue = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!isPrefix(queue) || queue === '' || !queue.startsWith(prefix)) throw badCursor()
  return queue
}
