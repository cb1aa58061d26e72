// Purge: what waits and what is locked, a step for each write, and all that is scheduled with one write. Rows of
// scheduled items belong to an era of their queue, and that write begins a new era; the record names the old one until
// its rows are deleted, which may take long. The same write puts the batches that the record's own entries name into a
// row of the old era. So if a process dies it leaves none of them behind, and if the purge was not written it deletes
// none. Each call draws the number of its era, so after a lost answer the record says whether its purge, or another
// one, is in.

import type { Transacted, Written } from '../../aws/dynamo.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { checkPriority } from '../core/check-requests.ts'
import { isReference } from '../core/item.ts'
import { recordKey } from '../core/keys.ts'
import { decodeScheduled, purgedMark } from '../core/later.ts'
import { HOUSEKEEPING_RETRY_MS } from '../core/limits.ts'
import { namedItems, purgeNamedStep, purgeStep } from '../core/named-items.ts'
import { patiently, type QueueRecord } from '../core/record.ts'
import { attempts, leaveDryQuietly } from '../driver/attempts.ts'
import { act, again, answer, asStored, done, doubt, type Outcome } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { PURGED_SORT_KEY, partitionOf, purgeUpdate, storedRow } from '../requests/later-rows.ts'
import { dropPurged } from '../storing/copy-later.ts'
import { byIdCourse, gapsOf } from './cancel.ts'

export type PurgeRequest = {
  readonly priority?: number | undefined
  /** Purges only these items, even locked ones. Give either this or a priority. */
  readonly ids?: readonly string[] | undefined
}

export interface PurgingVerbs {
  purge(queue: string, request?: PurgeRequest): Promise<{ readonly itemsPurged: number }>
}

/** 2,000 locks at 40 a step and 1,000 lanes at 80 a step, and room for as many lost races. */
const ATTEMPTS_MAX = 120
const HOLDS_FROM = 3

export async function purge(
  engine: Engine,
  queue: string,
  { priority, ids }: PurgeRequest = {},
): Promise<{ itemsPurged: number }> {
  checkQueueId(queue)
  if (ids !== undefined) return purgeNamed(engine, queue, ids, priority)
  if (priority !== undefined) checkPriority(priority)
  let itemsPurged = 0
  const scheduled = new ScheduledPurge(engine)
  let last: QueueRecord | undefined
  const purgedSoFar = () => ({ itemsPurged: itemsPurged + scheduled.items })
  const course = { from: 'store', attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM } as const
  const purged = await attempts(engine, queue, course, ({ record, nowMs, losses }) => {
    last = record
    if (record === undefined) return answer(purgedSoFar())
    if (priority === undefined && record.scheduled.items > 0 && !scheduled.isOver) {
      return act(() => scheduled.attempt(engine, record))
    }
    const { draft, items, finished } = purgeStep(record, priority, nowMs)
    if (draft === record) return answer(purgedSoFar())
    const change = engine.records.change(record, draft, {
      nowMs,
      // Otherwise a claim that the purge has not seen would keep a lock on items that are gone.
      guards: { claims: true },
      setsDry: engine.events && losses === 0,
    })
    return {
      kind: 'write',
      change,
      async landed(after) {
        itemsPurged += items
        if (!finished) return again(asStored(after))
        await leaveDryQuietly(engine, after)
        return done(purgedSoFar())
      },
    }
  }).catch((error: unknown) => {
    throw purgedSoFar().itemsPurged > 0 ? QueueError.partly(error) : error
  })
  if (priority === undefined) await dropPurgedQuietly(engine, last)
  if (scheduled.isTooMuch) {
    const error = tooManyPurges(queue)
    throw purged.itemsPurged > 0 ? QueueError.partly(error) : error
  }
  return purged
}

/** Purges only these items, whether they wait or are locked. */
async function purgeNamed(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  priority: number | undefined,
): Promise<{ itemsPurged: number }> {
  if (priority !== undefined) {
    const message = 'ids cannot go with priority: name the items, or the priority that they have'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'ids' })
  }
  const named = namedItems(ids)
  let itemsPurged = 0
  return attempts(engine, queue, byIdCourse, ({ record, nowMs, losses }) => {
    if (record === undefined) return answer({ itemsPurged })
    const { draft, items } = purgeNamedStep(record, named, nowMs)
    if (items.length === 0) return answer({ itemsPurged })
    const gaps = gapsOf(engine, record, draft, nowMs)
    if ('instead' in gaps) return gaps.instead
    const setsDry = engine.events && losses === 0
    return {
      kind: 'write',
      change: engine.records.change(record, draft, { nowMs, guards: gaps.guards, setsDry }),
      async landed(after) {
        itemsPurged += items.length
        await leaveDryQuietly(engine, after)
        return items.length < named.length ? again(asStored(after)) : done({ itemsPurged })
      },
    }
  }).catch((error: unknown) => {
    throw itemsPurged > 0 ? QueueError.partly(error) : error
  })
}

/** How many purges a record may name while their rows are not yet gone, some 25 bytes each. */
const PURGED_MAX = 16
/** How long a purge deletes rows, some thousands, before it answers. The sweeper's housekeeping deletes the rest. */
const DROP_MS = 5_000

/**
 * The most by which a purge raises the era. Each call draws its own number and keeps it, so after a lost answer the
 * record tells whose purge it was.
 */
const ERA_STEP_MAX = 1_000_000

/** Takes out all scheduled items with one write. */
class ScheduledPurge {
  /** How many items it took out. */
  items = 0
  /** The purge is done: items scheduled from now on come after it. */
  isOver = false
  /** The record already names as many purges as it may, and deleting their rows takes longer than this call has. */
  isTooMuch = false
  readonly #step: number
  /** A request whose answer was lost and which may still land. */
  #open: { readonly era: number; readonly items: number; readonly cause: unknown } | undefined

  constructor({ random }: Engine) {
    this.#step = 1 + Math.floor(random() * ERA_STEP_MAX)
  }

  async attempt(engine: Engine, record: QueueRecord): Promise<Outcome<never>> {
    const { queue, scheduled } = record
    if (scheduled.purged.length >= PURGED_MAX) {
      this.isTooMuch = !(await dropPurged(engine, record, engine.clock.nowMs() + DROP_MS))
      this.isOver = this.isTooMuch
      return again(asStored(await engine.records.read(queue)))
    }
    const { items } = scheduled
    const era = scheduled.era + this.#step
    const written = await write(engine, record, era)
    if (written.kind === 'unknown') {
      const { cause } = written
      this.#open = { era, items, cause }
      return doubt(cause, () => this.#look(engine, record))
    }
    if (written.kind === 'failed') return this.#look(engine, record)
    this.items = items
    this.isOver = true
    return again(asStored(await engine.records.read(queue)))
  }

  async #look(engine: Engine, { queue, born, scheduled }: QueueRecord): Promise<Outcome<never>> {
    const after = await engine.records.read(queue)
    const open = this.#open
    const era = after?.born === born ? after.scheduled.era : undefined
    if (open !== undefined && era === open.era) {
      this.items = open.items
      this.isOver = true
    } else if (open !== undefined && era !== scheduled.era) {
      // Another purge came before it, or after it.
      throw QueueError.unknown(queue, open.cause)
    }
    return again(asStored(after))
  }
}

async function write(
  engine: Engine,
  record: QueueRecord,
  era: number,
): Promise<Written | Transacted> {
  const { queue, scheduled } = record
  const { dynamo, clock } = engine
  const [key, nowMs] = [recordKey(queue), clock.nowMs()]
  const entries = scheduled.entries.filter((entry) => isReference(decodeScheduled(entry).entry))
  const timer = { atMs: patiently(nowMs + HOUSEKEEPING_RETRY_MS), nowMs }
  const mark = scheduled.seals + entries.length > 0 ? purgedMark(scheduled) : undefined
  const update = purgeUpdate(record, era, mark, timer)
  if (entries.length === 0) return dynamo.update(key, update)
  const { tableName: TableName } = dynamo
  const Item = storedRow(partitionOf(record), { sk: PURGED_SORT_KEY, entries })
  return dynamo.transact({
    TransactItems: [{ Update: { TableName, Key: key, ...update } }, { Put: { TableName, Item } }],
  })
}

/** Deletes the rows that the purge has left, once its lanes are empty. A failure does not change its answer. */
async function dropPurgedQuietly(engine: Engine, record: QueueRecord | undefined): Promise<void> {
  if (record === undefined || record.scheduled.purged.length === 0) return
  const untilMs = engine.clock.nowMs() + DROP_MS
  await dropPurged(engine, record, untilMs).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'purge-scheduled' })
  })
}

const tooManyPurges = (queue: string): QueueError =>
  new QueueError(
    'BUSY',
    `Cannot empty what is scheduled in queue "${queue}" yet because the rows of ${PURGED_MAX} earlier purges are still being deleted`,
  )
