import type { Row } from '../../../foundation/dynamo.ts'
import { CHECK_INDEX, type Key } from '../../../foundation/table.ts'
import { patternsWalkKey, queueOfRecordKey, queueOfSchedules } from '../../core/keys.ts'
import type { Engine } from '../attempts/engine.ts'

/** As many as one BatchGetItem reads. */
const PAGE_QUEUES = 100

/** A queue whose timer has come. */
export type DueQueue = {
  readonly kind: 'queue'
  readonly queue: string
  /** When its timer ended, as the index says. */
  readonly dueMs: number
  /** As it is now; absent where it is gone. */
  readonly row: Row | undefined
}
/** Schedules of one queue whose time has come, as they are now. */
export type DueSchedules = {
  readonly kind: 'schedules'
  readonly queue: string
  readonly schedules: readonly DueSchedule[]
}
export type DueSchedule = { readonly dueMs: number; readonly row: Row | undefined }
/** The patterns are to be applied to the queues that are there. */
export type DuePatterns = { readonly kind: 'patterns' }
export type Unreadable =
  /** The store gives the others, and not this one. */
  | {
      readonly kind: 'unread'
      readonly queue: string
      readonly dueMs: number
      readonly error: unknown
    }
  /** Nobody can tell what is due in this shard. */
  | { readonly kind: 'shard-unread'; readonly shard: number; readonly error: unknown }
  /** The time is up, and there may be more. */
  | { readonly kind: 'cut' }

/**
 * Shard by shard, the earliest timer of each first. It begins with another shard each time, so that a
 * run which must stop starves none of them. It reports what it cannot read and goes on: one item or index
 * partition that is throttled must not hold up the queues of all others.
 */
export async function* dueQueues(
  engine: Engine,
  shards: readonly number[],
  mayGoOn: () => boolean,
): AsyncGenerator<DueQueue | DueSchedules | DuePatterns | Unreadable> {
  const first = Math.floor(engine.random() * shards.length)
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
    let from: Row | undefined
    do {
      if (!mayGoOn()) {
        yield { kind: 'cut' }
        return
      }
      try {
        const { rows, next } = await duePage(engine, shard, from)
        const queues = rows.filter(({ pk }) => pk !== patternsWalkKey.pk)
        if (queues.length < rows.length) yield { kind: 'patterns' }
        yield* await readPage(engine, queues)
        from = next
      } catch (error) {
        yield { kind: 'shard-unread', shard, error }
        from = undefined
      }
    } while (from !== undefined)
  }
}

const duePage = (engine: Engine, shard: number, from: Row | undefined) =>
  engine.dynamo.query({
    IndexName: CHECK_INDEX,
    KeyConditionExpression: '#s=:s AND checkAt<=:now',
    ExpressionAttributeNames: { '#s': 'shard' },
    ExpressionAttributeValues: { ':s': shard, ':now': engine.clock.nowMs() },
    Limit: PAGE_QUEUES,
    ...(from !== undefined && { ExclusiveStartKey: from }),
  })

async function readPage(
  engine: Engine,
  due: readonly Row[],
): Promise<(DueQueue | DueSchedules | Unreadable)[]> {
  const { rows, unread } = await engine.dynamo.getReadable(due.map(keyOf), true)
  const rowAt = new Map(rows.map((row) => [placeOf(row), row]))
  const isUnread = new Set(unread?.keys.map(placeOf))
  const schedules = new Map<string, DueSchedule[]>()
  const visits = due.flatMap((found): (DueQueue | Unreadable)[] => {
    const { pk } = keyOf(found)
    const scheduled = queueOfSchedules(pk)
    const queue = scheduled ?? queueOfRecordKey(pk)
    const dueMs = found.checkAt as number
    const place = placeOf(found)
    if (isUnread.has(place)) return [{ kind: 'unread', queue, dueMs, error: unread?.error }]
    const row = rowAt.get(place)
    if (scheduled === undefined) return [{ kind: 'queue', queue, dueMs, row }]
    schedules.set(queue, [...(schedules.get(queue) ?? []), { dueMs, row }])
    return []
  })
  const grouped = [...schedules].map(
    ([queue, of]): DueSchedules => ({ kind: 'schedules', queue, schedules: of }),
  )
  return [...visits, ...grouped]
}

const keyOf = ({ pk, sk }: Row): Key => ({ pk, sk }) as Key
/** No key has a line break. */
const placeOf = ({ pk, sk }: Row): string => `${pk}\n${sk}`
