import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { SCHEDULES_MAX } from '../../core/limits.ts'
import {
  checkScheduleInput,
  checkScheduleName,
  definitionOf,
  invalid,
  isDefinedAlike,
  isTimedAlike,
  type Schedule,
  type ScheduleInput,
  type ScheduleItem,
} from '../../core/schedule.ts'
import type { Times } from '../../core/schedule-times.ts'
import { deletion, type RowWrite, replacement } from '../../store/schedule-rows.ts'
import { busy, type Engine, newMark, pause } from '../attempts/engine.ts'
import {
  noSuchSchedule,
  readSchedule,
  readScheduleItem,
  schedules,
  type WholeSchedule,
} from './read-schedule.ts'
import { timesOf } from './times-of.ts'

// What callers do to a schedule. Each change is one transaction on the condition that the row is as it was seen.

/** The sweeper may move a schedule at any time, and rarely does. */
const ATTEMPTS_MAX = 12

type Match = { readonly ifMatch?: string | undefined }

/** Makes the schedule, or replaces everything that a caller can set. Putting the same again changes nothing. */
export async function putSchedule(
  engine: Engine,
  queue: string,
  name: string,
  input: ScheduleInput,
  { ifMatch }: Match = {},
): Promise<WholeSchedule> {
  checkQueueId(queue)
  checkScheduleName(name)
  checkScheduleInput(input)
  const { text } = input
  const tag = newMark(engine)
  const after = await change(engine, queue, name, async (before) => {
    checkMatch(queue, name, before, ifMatch)
    const nowMs = engine.clock.nowMs()
    const definition = definitionOf(input, before, nowMs)
    const times = await timesOf(definition)
    if (before === undefined) {
      await checkCount(engine, queue)
    } else if (isDefinedAlike(definition, before)) {
      const item = await readScheduleItem(engine, before)
      if (item?.mark === before.itemMark && item.text === text) return { kind: 'as-it-is' }
    }
    const goesOn = before !== undefined && isGoingOn(definition, before, times, nowMs)
    // Another process, whose clock may be ahead, has found that the last one was due.
    const nextMs = goesOn ? before.nextMs : times.from(Math.max(nowMs, before?.lastMs ?? 0) + 1)
    if (nextMs === undefined && !goesOn) throw neverDue(input)
    const put: Schedule = {
      ...definition,
      queue,
      name,
      tag,
      itemMark: tag,
      version: (before?.version ?? 0) + 1,
      paused: before?.paused ?? false,
      ...(nextMs !== undefined && { nextMs }),
      ...(before?.lastMs !== undefined && { lastMs: before.lastMs }),
      // The change may be what it waits for.
      ...(goesOn && before.retryAtMs !== undefined && { retryAtMs: nowMs }),
    }
    return { kind: 'change', after: put, item: { mark: tag, text } }
  })
  return { ...(after as Schedule), text }
}

/** The times stay, or only later ones change: the occurrence that is due and not yet pushed is in both. */
const isGoingOn = (
  definition: Pick<Schedule, 'timing' | 'startsAtMs' | 'endsAtMs' | 'priority' | 'missed'>,
  before: Schedule,
  times: Times,
  nowMs: number,
): boolean =>
  isTimedAlike(definition, before) ||
  (before.nextMs !== undefined &&
    before.nextMs <= nowMs &&
    times.from(before.nextMs) === before.nextMs)

/** Whether there was one. */
export async function deleteSchedule(
  engine: Engine,
  queue: string,
  name: string,
  { ifMatch }: Match = {},
): Promise<boolean> {
  checkQueueId(queue)
  checkScheduleName(name)
  let wasThere = false
  await change(engine, queue, name, async (before) => {
    checkMatch(queue, name, before, ifMatch)
    if (before === undefined) return { kind: 'as-it-is' }
    wasThere = true
    return { kind: 'change', after: undefined }
  })
  return wasThere
}

/** Nothing is pushed until it is resumed. */
export const pauseSchedule = (engine: Engine, queue: string, name: string): Promise<Schedule> =>
  changeThere(engine, queue, name, async (before) =>
    before.paused ? undefined : { ...before, paused: true },
  )

/**
 * The schedule goes on. Its rule decides about the occurrences missed meanwhile, however short the pause was:
 * `skip` begins with the next occurrence from now on, and `one` with the last that was due, for all. An occurrence
 * that waited counts as missed.
 */
export const resumeSchedule = (engine: Engine, queue: string, name: string): Promise<Schedule> =>
  changeThere(engine, queue, name, async (before) => {
    if (!before.paused) return undefined
    const nextMs = await resumedAt(before, engine.clock.nowMs())
    return { ...before, paused: false, nextMs, retryAtMs: undefined, refused: undefined }
  })

async function resumedAt(before: Schedule, nowMs: number): Promise<number | undefined> {
  const { nextMs, missed } = before
  if (nextMs === undefined || nextMs > nowMs || missed === 'all') return nextMs
  const times = await timesOf(before)
  return missed === 'skip' ? times.from(nowMs + 1) : Math.max(nextMs, ...times.before(nowMs + 1, 1))
}

async function changeThere(
  engine: Engine,
  queue: string,
  name: string,
  next: (before: Schedule) => Promise<Schedule | undefined>,
): Promise<Schedule> {
  checkQueueId(queue)
  checkScheduleName(name)
  const tag = newMark(engine)
  const changed = await change(engine, queue, name, async (before) => {
    if (before === undefined) throw noSuchSchedule(queue, name)
    const after = await next(before)
    if (after === undefined) return { kind: 'as-it-is' }
    return { kind: 'change', after: { ...after, tag, version: before.version + 1 } }
  })
  return changed as Schedule
}

type Change =
  | { readonly kind: 'as-it-is' }
  /** No schedule after it: this deletes it. */
  | { readonly kind: 'change'; readonly after: Schedule | undefined; readonly item?: ScheduleItem }

type Sent = { readonly before: Schedule | undefined; readonly after: Schedule | undefined }

/**
 * Reads, decides and writes. After a lost answer we read the row: it has our tag; or the write can still land, and
 * we send it again; or the row has moved on without it.
 */
async function change(
  engine: Engine,
  queue: string,
  name: string,
  decide: (before: Schedule | undefined) => Promise<Change>,
): Promise<Schedule | undefined> {
  let open: (Sent & { readonly cause: unknown }) | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    try {
      const before = await readSchedule(engine, queue, name)
      if (open !== undefined) {
        const fate = fateOf(open, before)
        if (fate === 'landed') return before
        if (fate === 'unknown') break
        if (fate === 'never') open = undefined
      }
      const decided = await decide(before)
      if (decided.kind === 'as-it-is') return before
      const { after, item } = decided
      const written = await write(engine, { before, after }, queue, name, item)
      if (written.kind === 'done') return after
      if (written.kind === 'unknown') open = { before, after, cause: written.cause }
    } catch (error) {
      if (open !== undefined) break
      throw error
    }
    await pause(engine, attempt)
  }
  throw open === undefined ? busy(queue) : inDoubt(queue, name, open.cause)
}

function write(
  engine: Engine,
  { before, after }: Sent,
  queue: string,
  name: string,
  item: ScheduleItem | undefined,
) {
  const table = engine.dynamo.tableName
  const TransactItems: readonly RowWrite[] =
    after === undefined
      ? deletion(table, queue, name, before)
      : replacement(table, before, after, engine.clock.nowMs(), item)
  return engine.dynamo.transact({ TransactItems: [...TransactItems] as never })
}

/** What the row says about a write whose answer was lost. */
function fateOf(sent: Sent, now: Schedule | undefined): 'landed' | 'open' | 'never' | 'unknown' {
  if (now?.tag === sent.after?.tag) return 'landed'
  // Our write may have made it, and another caller may have deleted it since: made again, it would outlive that.
  if (now === undefined) return 'unknown'
  if (now?.tag !== sent.before?.tag) return 'unknown'
  // The sweeper has moved it: our write would find another version.
  return now?.version === sent.before?.version ? 'open' : 'never'
}

const inDoubt = (queue: string, name: string, cause: unknown): QueueError =>
  new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot tell whether schedule "${name}" of queue "${queue}" was changed, because the store's answer was lost`,
    { outcome: 'unknown', cause },
  )

/** Callers that make schedules at the same moment may exceed it together. */
async function checkCount(engine: Engine, queue: string): Promise<void> {
  if ((await schedules(engine, queue)).length < SCHEDULES_MAX) return
  throw new QueueError(
    'TOO_MANY_SCHEDULES',
    `Cannot make another schedule for queue "${queue}" because it has ${SCHEDULES_MAX}`,
  )
}

function neverDue({ cron, endsAtMs }: ScheduleInput): QueueError {
  return endsAtMs === undefined
    ? invalid('cron', `cron "${cron}" names no time that ever comes`)
    : invalid('ends_at', 'ends_at must not be before the first time at which the schedule is due')
}

function checkMatch(
  queue: string,
  name: string,
  before: Schedule | undefined,
  ifMatch: string | undefined,
): void {
  if (ifMatch === undefined || ifMatch === before?.tag) return
  throw new QueueError(
    'VERSION_MISMATCH',
    `Cannot change schedule "${name}" of queue "${queue}" because its tag is ${before?.tag ?? 'none'}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
}
