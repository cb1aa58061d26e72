// Queues as the directory index has them, shard by shard: the state of one, pages of many, and the walk that comes to
// each. The index is a little late: it may still name a queue that was forgotten, and not yet one that was just made.
// So lists and walks go by the records themselves. A record that cannot be read just now, or that a newer engine has
// written, is named without its counts, and stands in the way of no other.

import { BATCH_GET_KEYS_MAX } from '../../aws/dynamo.ts'
import { DIRECTORY_INDEX } from '../../aws/table.ts'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { checkLimit } from '../core/check-requests.ts'
import { pushedAtMsOf } from '../core/item.ts'
import { allShards, queueOfRecordKey, recordKey, recordPrefix } from '../core/keys.ts'
import { earliestDue } from '../core/later.ts'
import { PAGE_DEFAULT, QUEUES_PER_PAGE_MAX, SHARDS } from '../core/limits.ts'
import { liveLocks } from '../core/locks.ts'
import { countOf } from '../core/ranges.ts'
import { itemsIn, lanesInOrder, type QueueRecord } from '../core/record.ts'
import { type Configuration, tagOf } from '../core/settings.ts'
import { isRetry } from '../core/settling.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import {
  badCursor,
  blockedField,
  countIn,
  countWaiting,
  detailOf,
  etagOf,
  type LaneState,
  laneView,
  lockedNow,
  oldestInTails,
  visibleIn,
} from '../core/views.ts'
import type { Engine } from '../driver/engine.ts'
import { configurationByNow } from '../driver/queue-settings.ts'

/** Of a queue. */
export type Waiting = {
  /** Items that were released with a delay that is not yet over. */
  readonly waitingCount: number
  /** Until when such items hold back the others from pops without `competing`, if they do. */
  readonly blockedUntilMs?: number
}

export type InspectRequest = {
  readonly consistent?: boolean | undefined
  /** Returns how old the oldest item is, even if that takes a read of each priority. */
  readonly oldest?: boolean | undefined
}

export type QueueState = Waiting & {
  readonly queue: string
  readonly version: number
  readonly count: number
  readonly lockedCount: number
  /** Items on their way to the dead-letter queue. */
  readonly deadCount: number
  /** Items whose time has not come, or that have found no room since. */
  readonly scheduledCount: number
  /** When the first of them is due. If that is in the past, the queue has no room for it. */
  readonly nextDueMs?: number
  /** Present if the record itself tells it, or the caller asked for it; absent if no item waits. */
  readonly oldestPushedAtMs?: number
  readonly lanes: readonly LaneState[]
  readonly locks: readonly {
    readonly expiresAtMs: number
    readonly count: number
    readonly priorities: readonly number[]
  }[]
  readonly configuration: Configuration
  readonly etag: string
}

export type ListRequest = {
  readonly prefix?: string | undefined
  /** Only these, in this order, whether or not they exist. Give either this, or a prefix and pages. */
  readonly ids?: readonly string[] | undefined
  /** Returns more of each record than its count. */
  readonly detail?: boolean | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Without count and detail if the record could not be read, because it is throttled or has a newer format. */
export type QueueSummary = {
  readonly queue: string
  readonly count?: number
  readonly detail?: Waiting & {
    readonly lockedCount: number
    readonly deadCount: number
    /** Items whose time has not come, or that have found no room since. */
    readonly scheduledCount: number
    /** The lanes that hold items. */
    readonly lanes: readonly { readonly priority: number; readonly count: number }[]
  }
}

export type QueuePage = {
  readonly queues: readonly QueueSummary[]
  readonly cursor?: string
}

export interface ListingVerbs {
  inspect(queue: string, request?: InspectRequest): Promise<QueueState>
  list(request?: ListRequest): Promise<QueuePage>
}

/** Lanes whose first items we read at a time, to tell how old the oldest is. */
const LANES_AT_ONCE = 16

export async function inspect(
  engine: Engine,
  queue: string,
  { consistent = false, oldest = false }: InspectRequest = {},
): Promise<QueueState> {
  checkQueueId(queue)
  // We do not remember this record: it may be older than the one this engine knows.
  const row = await engine.dynamo.get(recordKey(queue), consistent)
  const record = row && decodeRecord(row as StoredRecord)
  if (record === undefined) return stateOfNothing(queue, await configurationByNow(engine, queue))
  const nowMs = engine.clock.nowMs()
  const lanes = lanesInOrder(record)
  const visible = lanes.map(([, lane]) => visibleIn(record, lane))
  const lockedCount = lanes.reduce(
    (sum, [priority], i) => sum + countOf(lockedNow(record, priority, visible[i] ?? [], nowMs)),
    0,
  )
  const nextDue = earliestDue(record.scheduled)
  const oldestPushedAtMs = oldest ? await readOldest(engine, record) : oldestInTails(record)
  return {
    queue,
    version: record.version,
    count: visible.reduce((sum, ranges) => sum + countOf(ranges), 0),
    lockedCount,
    waitingCount: lanes.reduce(
      (sum, [priority], i) => sum + countWaiting(record, priority, visible[i] ?? [], nowMs),
      0,
    ),
    ...blockedField(record, nowMs),
    deadCount: lanes.reduce((sum, [, lane]) => sum + countOf(lane.dead), 0),
    scheduledCount: record.scheduled.items,
    ...(nextDue !== undefined && { nextDueMs: 1_000 * nextDue }),
    ...(oldestPushedAtMs !== undefined && { oldestPushedAtMs }),
    lanes: lanes.map(([, lane]) => laneView(record, lane)),
    locks: liveLocks(record, nowMs)
      .map(([, lock]) => lock)
      .filter((lock) => !isRetry(lock))
      .sort((one, other) => one.expiresAtMs - other.expiresAtMs)
      .map((lock) => ({
        expiresAtMs: lock.expiresAtMs,
        count: itemsIn(lock.stretches),
        priorities: [...new Set(lock.stretches.map(({ priority }) => priority))],
      })),
    configuration: record.configuration,
    etag: etagOf(record),
  }
}

const stateOfNothing = (queue: string, configuration: Configuration): QueueState => ({
  queue,
  version: 0,
  count: 0,
  lockedCount: 0,
  waitingCount: 0,
  deadCount: 0,
  scheduledCount: 0,
  lanes: [],
  locks: [],
  configuration,
  etag: `"${tagOf(configuration)}"`,
})

/** Reads the first item of each lane, wherever it is. */
async function readOldest(engine: Engine, record: QueueRecord): Promise<number | undefined> {
  let earliest: number | undefined
  const lanes = [...record.lanes.values()]
  for (let at = 0; at < lanes.length; at += LANES_AT_ONCE) {
    await Promise.all(
      lanes.slice(at, at + LANES_AT_ONCE).map(async (lane) => {
        const first = visibleIn(record, lane)[0]
        if (first === undefined) return
        const stretch = { priority: lane.priority, from: first.from, to: first.from + 1 }
        const read = await engine.items.read(record, [stretch])
        // The item has gone meanwhile, because this view shows a record that is out of date by now.
        const entry = read.kind === 'read' ? read.entries[0] : undefined
        if (entry === undefined) return
        earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, pushedAtMsOf(entry))
      }),
    )
  }
  return earliest
}

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
  const queues = await queuesIn(engine, shard, { prefix, after, limit: BATCH_GET_KEYS_MAX })
  const { rows, unread: missing } = await engine.dynamo.getReadable(queues.map(recordKey), true)
  const unread = (missing?.keys ?? []).map(({ pk }) => ({
    queue: queueOfRecordKey(pk),
    error: missing?.error,
  }))
  const records: QueueRecord[] = []
  for (const row of rows) {
    const queue = queueOfRecordKey(row.pk as string)
    try {
      const record = engine.records.seen(queue, row)
      if (record !== undefined) records.push(record)
    } catch (error) {
      unread.push({ queue, error })
    }
  }
  const last = queues.at(-1)
  const isOver = queues.length < BATCH_GET_KEYS_MAX || last === undefined
  if (!isOver) return { records, unread, next: { shard, after: last } }
  return { records, unread, next: walkToNextShard({ shard }) }
}

export const walkToNextShard = ({ shard }: WalkPlace): WalkPlace | undefined =>
  shard + 1 < SHARDS ? { shard: shard + 1 } : undefined

const prefixForm = /^[A-Za-z0-9._-]{0,111}$/

const isPrefix = (text: string): boolean => prefixForm.test(text)

export function checkPrefix(prefix: string): void {
  if (isPrefix(prefix)) return
  throw new QueueError('INVALID_PARAMETER', 'prefix must be the beginning of a queue id', {
    field: 'prefix',
  })
}

/** The queues of one shard that have this prefix, ordered by name, after the one named. */
async function queuesIn(
  engine: Engine,
  shard: number,
  {
    prefix,
    after,
    limit,
  }: { readonly prefix: string; readonly after: string | undefined; readonly limit: number },
): Promise<string[]> {
  const low = recordPrefix(prefix)
  const past = after === undefined ? undefined : recordPrefix(after)
  // '~' sorts after every character that a queue id may contain.
  const { rows } = await engine.dynamo.query({
    IndexName: DIRECTORY_INDEX,
    KeyConditionExpression: '#s=:s AND pk BETWEEN :low AND :high',
    ExpressionAttributeNames: { '#s': 'shard' },
    ExpressionAttributeValues: {
      ':s': shard,
      // Appending a character that sorts below all those of ids turns "from" into "after".
      ':low': past === undefined ? low : `${past} `,
      ':high': `${low}~`,
    },
    Limit: limit,
  })
  return rows.map((row) => queueOfRecordKey(row.pk as string))
}
