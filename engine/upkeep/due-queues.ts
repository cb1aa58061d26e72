// Which timers of the table have come, shard by shard, and what their rows say now. We read the index eventually
// consistently: it may be behind, show a timer that has moved, or show it twice. So each row comes as the table has
// it, read strongly, and each visit looks at its own timer again. We report what we cannot read, and go on with the
// others. Rows of kinds that we do not know are for newer engines: we leave them alone.

import { BATCH_GET_KEYS_MAX, type Row } from '../../aws/dynamo.ts'
import { CHECK_INDEX, type Key } from '../../aws/table.ts'
import { isRecordKey, patternsWalkKey, queueOfRecordKey, queueOfSchedules } from '../core/keys.ts'
import { isPatient, NEAR_MS } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'

/** A queue that the sweep could not serve, or a shard whose timers it could not read. */
export type SweepFailure = {
  readonly queue?: string
  readonly shard?: number
  readonly error: unknown
}

/** A queue whose timer has come. */
export type DueQueue = {
  readonly kind: 'queue'
  readonly queue: string
  /** When its timer ended, as the index says. */
  readonly dueMs: number
  /** The record as it is now; absent if it is gone. */
  readonly row: Row | undefined
}

/** The first prompt timer of a shard that is not due yet, but will be soon. */
type NextQueue = { readonly kind: 'next'; readonly atMs: number }

/** Schedules of one queue whose time has come. */
export type DueSchedules = {
  readonly kind: 'schedules'
  readonly queue: string
  /** Their rows; absent if a schedule is gone. */
  readonly rows: readonly (Row | undefined)[]
}

/** It is time to apply the patterns to existing queues. */
type DuePatterns = { readonly kind: 'patterns' }

export type Unreadable =
  /** The store returned the others, but not this one. */
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

export type FoundDue = DueQueue | DueSchedules | NextQueue | DuePatterns | Unreadable

export type Timer = Key & { readonly dueMs: number }

/**
 * Goes shard by shard, the earliest timer of each first. It begins with another shard each time, so that no shard
 * starves if runs must stop early. It reports what it cannot read and goes on: one throttled item or index
 * partition must not hold up all other queues.
 */
export async function* dueQueues(
  engine: Engine,
  shards: readonly number[],
  mayGoOn: () => boolean,
  isWanted: (due: Timer) => boolean = () => true,
): AsyncGenerator<FoundDue> {
  const first = Math.floor(engine.random() * shards.length)
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
    // One for all pages: DynamoDB refuses a page that begins outside its range, as it may after a clock was set back.
    const untilMs = engine.clock.nowMs() + NEAR_MS
    let from: Row | undefined
    do {
      if (!mayGoOn()) {
        yield { kind: 'cut' }
        return
      }
      try {
        const nowMs = engine.clock.nowMs()
        const { rows, next } = await duePage(engine, shard, untilMs, from)
        const due = rows.filter(({ dueMs }) => dueMs <= nowMs)
        if (due.some(({ pk }) => pk === patternsWalkKey.pk)) yield { kind: 'patterns' }
        const atMs = nextIn(rows.slice(due.length), next !== undefined)
        if (atMs !== undefined) yield { kind: 'next', atMs }
        yield* await readPage(engine, due.filter(isOfQueue).filter(isWanted))
        // Timers are in order: once one is in the future, so are all behind it.
        from = due.length === rows.length ? next : undefined
      } catch (error) {
        yield { kind: 'shard-unread', shard, error }
        from = undefined
      }
    } while (from !== undefined)
  }
}

/** The due timers and, from the same request, those that are due soon. */
async function duePage(
  engine: Engine,
  shard: number,
  untilMs: number,
  from: Row | undefined,
): Promise<{ readonly rows: readonly Timer[]; readonly next: Row | undefined }> {
  const { rows, next } = await engine.dynamo.query({
    IndexName: CHECK_INDEX,
    KeyConditionExpression: '#s=:s AND checkAt<=:until',
    ExpressionAttributeNames: { '#s': 'shard' },
    ExpressionAttributeValues: { ':s': shard, ':until': untilMs },
    Limit: BATCH_GET_KEYS_MAX,
    ...(from !== undefined && { ExclusiveStartKey: from }),
  })
  return { rows: rows.map(timerOf), next }
}

const timerOf = ({ pk, sk, checkAt }: Row): Timer => ({
  pk: pk as string,
  sk: sk as string,
  dueMs: checkAt as number,
})

/** The first prompt timer of those ahead. We read no further page: if this page is cut, its last timer counts. */
function nextIn(ahead: readonly Timer[], isCut: boolean): number | undefined {
  const prompt = ahead.find((timer) => isOfQueue(timer) && !isPatient(timer.dueMs))
  return (prompt ?? (isCut ? ahead.at(-1) : undefined))?.dueMs
}

async function readPage(
  engine: Engine,
  page: readonly Timer[],
): Promise<(DueQueue | DueSchedules | Unreadable)[]> {
  if (page.length === 0) return []
  const timers = onceEach(page)
  const keys = timers.map(({ pk, sk }) => ({ pk, sk }))
  const { rows, unread } = await engine.dynamo.getReadable(keys, true)
  const rowAt = new Map(rows.map((row) => [placeOf(row as Key), row]))
  const isUnread = new Set(unread?.keys.map((key) => placeOf(key as Key)))
  const schedules = new Map<string, (Row | undefined)[]>()
  const visits = timers.flatMap((timer): (DueQueue | Unreadable)[] => {
    const { queue, dueMs } = queueOf(timer)
    const place = placeOf(timer)
    if (isUnread.has(place)) return [{ kind: 'unread', queue, dueMs, error: unread?.error }]
    const row = rowAt.get(place)
    if (queueOfSchedules(timer.pk) === undefined) return [{ kind: 'queue', queue, dueMs, row }]
    schedules.set(queue, [...(schedules.get(queue) ?? []), row])
    return []
  })
  const grouped = [...schedules].map(
    ([queue, rows]): DueSchedules => ({ kind: 'schedules', queue, rows }),
  )
  return [...visits, ...grouped]
}

const isOfQueue = (timer: Timer): boolean =>
  isRecordKey(timer) || queueOfSchedules(timer.pk) !== undefined

const queueOf = ({ pk, dueMs }: Timer) => ({
  queue: queueOfSchedules(pk) ?? queueOfRecordKey(pk),
  dueMs,
})

/**
 * The index is eventually consistent, and a timer that moves is a deletion and a new row there: a page may show both. A
 * BatchGetItem that names a key twice is refused, and with it all other queues of the page. The earlier time counts.
 */
const onceEach = (page: readonly Timer[]): Timer[] =>
  [...new Map(page.toReversed().map((timer) => [placeOf(timer), timer])).values()].toReversed()

/** No key has a line break. */
export const placeOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`

/**
 * Works through a list, a number of elements at a time. It begins another only while `mayBegin` allows it, and
 * returns how many it has begun. The work must handle its own errors.
 */
export async function sideBySide<T>(
  list: Iterable<T> | AsyncGenerator<T>,
  atOnce: number,
  work: (one: T) => Promise<void>,
  mayBegin: () => boolean = () => true,
): Promise<number> {
  const left = Symbol.asyncIterator in list ? list : list[Symbol.iterator]()
  let begun = 0
  const worker = async (): Promise<void> => {
    while (mayBegin()) {
      const pulled = left.next()
      const next = pulled instanceof Promise ? await pulled : pulled
      if (next.done === true) return
      begun += 1
      await work(next.value)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return begun
}
