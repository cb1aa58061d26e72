import { QueueError } from '../core/errors.ts'
import { queueOfRecordKey, recordKey, recordPrefix } from '../core/keys.ts'
import { SHARDS } from '../core/limits.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import { badCursor, countIn } from '../core/views.ts'
import type { QueuePage } from '../queues.ts'
import { DIRECTORY_INDEX } from '../store/table.ts'
import type { Engine } from './engine.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
const prefixForm = /^[A-Za-z0-9._-]{0,111}$/

/** Queues by name, a page at a time: each shard has its own in order, and this merges them. */
export async function list(
  engine: Engine,
  {
    prefix = '',
    limit = LIMIT_DEFAULT,
    cursor,
  }: { readonly prefix?: string; readonly limit?: number; readonly cursor?: string } = {},
): Promise<QueuePage> {
  if (!prefixForm.test(prefix)) {
    throw new QueueError('INVALID_PARAMETER', 'prefix must be the beginning of a queue id', {
      field: 'prefix',
    })
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new QueueError('INVALID_PARAMETER', `limit must be an integer from 1 to ${LIMIT_MAX}`, {
      field: 'limit',
    })
  }
  const after = cursor === undefined ? undefined : decodeListCursor(cursor, prefix)
  // One more than asked for tells whether there is another page.
  const shards = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => queuesOf(engine, shard, prefix, after, limit + 1)),
  )
  const found = shards.flat().sort()
  const queues = found.slice(0, limit)
  const counts = await countsOf(engine, queues)
  const last = queues.at(-1)
  return {
    queues: queues.map((queue) => ({ queue, count: counts.get(queue) ?? 0 })),
    ...(found.length > limit && last !== undefined && { cursor: encodeListCursor(last) }),
  }
}

async function queuesOf(
  engine: Engine,
  shard: number,
  prefix: string,
  after: string | undefined,
  limit: number,
): Promise<string[]> {
  const low = recordPrefix(prefix)
  const past = after === undefined ? undefined : recordPrefix(after)
  // '~' comes after all that a queue id may hold.
  const { rows } = await engine.dynamo.query({
    IndexName: DIRECTORY_INDEX,
    KeyConditionExpression: '#s=:s AND pk BETWEEN :low AND :high',
    ExpressionAttributeNames: { '#s': 'shard' },
    ExpressionAttributeValues: {
      ':s': shard,
      // A character below all that ids hold makes "from" mean "after".
      ':low': past === undefined ? low : `${past} `,
      ':high': `${low}~`,
    },
    Limit: limit,
  })
  return rows.map((row) => queueOfRecordKey(row.pk as string))
}

async function countsOf(engine: Engine, queues: readonly string[]): Promise<Map<string, number>> {
  const rows = await engine.dynamo.getMany(queues.map(recordKey), false)
  return new Map(
    rows.map((row) => {
      const record = decodeRecord(row as StoredRecord)
      return [record.queue, countIn(record)]
    }),
  )
}

const encodeListCursor = (queue: string): string => Buffer.from(queue).toString('base64url')

function decodeListCursor(cursor: string, prefix: string): string {
  const queue = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!prefixForm.test(queue) || queue === '' || !queue.startsWith(prefix)) throw badCursor()
  return queue
}
