// Schedules that are due push their items; and how schedules are read. One transaction moves the schedule's row on, on
// condition that it is as we saw it, and appends the items to the queue's record. So each occurrence is pushed once,
// even if other processes do the same at the same time, or one dies in the middle; after a lost answer, the row says
// whether it has moved on. If the queue has no room, or refuses the items, the schedule keeps the occurrence and says
// when to try again.

import { checkQueueId, type ErrorCode, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { type Append, appendOf, obstacleTo } from '../core/append.ts'
import { encodeItem } from '../core/item.ts'
import { recordKey, scheduleItemKey, scheduleKey, schedulesPartition } from '../core/keys.ts'
import {
  FULL_RETRY_MS,
  INLINE_BYTES_MAX,
  OCCURRENCES_PER_PUSH,
  PUSH_BYTES_MAX,
  REFUSED_RETRY_MS,
} from '../core/limits.ts'
import { patiently, type QueueRecord } from '../core/record.ts'
import {
  checkAtOf,
  checkScheduleName,
  cronTimes,
  type DueOccurrences,
  dueOccurrences,
  intervalTimes,
  isDue,
  type Schedule,
  type ScheduleItem,
  type Times,
  withinBounds,
} from '../core/schedule.ts'
import type { Engine } from '../driver/engine.ts'
import { appendUpdate } from '../requests/append-update.ts'
import {
  decodeSchedule,
  decodeScheduleItem,
  type RowWrite,
  replacement,
} from '../requests/schedule-rows.ts'
import { ensureLane } from '../storing/make-lanes.ts'
import { makeRoom } from '../storing/make-room.ts'
import { sealQuietly } from '../storing/seal.ts'
import { bringing, byReference, discardBatches } from '../storing/write-entries.ts'

export interface ReadingSchedulesVerbs {
  /** With its item. */
  schedule(queue: string, name: string): Promise<Schedule & { readonly text: string }>
  /** By name, without their items. */
  schedules(queue: string): Promise<readonly Schedule[]>
}

/** Transactions of one visit: the thousand that `missed: all` may bring, and as many lost races. */
const ROUNDS_MAX = 24

export type DuePushed = {
  readonly pushed: number
  /** Something is left, so its `checkAt` is still due. */
  readonly more: boolean
  /** When the sweeper or Wake should come next; absent if more is due now, or nothing ever will be. */
  readonly nextAtMs?: number | undefined
}

/** Pushes the due occurrences of this schedule, as many as the time lasts for. */
export async function pushDue(
  engine: Engine,
  first: Schedule,
  deadlineMs: number,
): Promise<DuePushed> {
  let pushed = 0
  let schedule: Schedule | undefined = first
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const nowMs = engine.clock.nowMs()
    if (schedule === undefined || !isDue(schedule, nowMs)) {
      return { pushed, more: false, nextAtMs: schedule && checkAtOf(schedule) }
    }
    if (nowMs >= deadlineMs) break
    const seen: Schedule = schedule
    const step = await pushOnce(engine, seen, nowMs).catch((error: unknown) =>
      putOff(engine, seen, nowMs, error),
    )
    pushed += step.pushed
    schedule = step.schedule
    if (step.isLost) await engine.records.pause(round)
  }
  return { pushed, more: true }
}

/** The outcome of one round, and the schedule as it is then. */
type Step = {
  readonly pushed: number
  readonly schedule: Schedule | undefined
  readonly isLost?: boolean
}

async function pushOnce(engine: Engine, schedule: Schedule, nowMs: number): Promise<Step> {
  const item = await readScheduleItem(engine, schedule)
  if (item?.mark !== schedule.itemMark) {
    const current = await reread(engine, schedule)
    if (current?.tag === schedule.tag && current.version === schedule.version) {
      throw withoutItem(schedule)
    }
    // A caller has replaced it since we read its row.
    return { pushed: 0, schedule: current, isLost: true }
  }
  const atOnce = Math.floor(PUSH_BYTES_MAX / Buffer.byteLength(item.text))
  const occurrencesMax = Math.min(OCCURRENCES_PER_PUSH, atOnce)
  const due = dueOccurrences(schedule, await timesOf(schedule), nowMs, occurrencesMax)
  if (due === undefined) return { pushed: 0, schedule }
  if (due.dues.length === 0) return write(engine, schedule, movedOn(schedule, due))
  const { room } = await recordFor(engine, schedule, due.dues.length)
  const dues = due.dues.slice(0, Math.max(0, room))
  const after =
    dues.length === due.dues.length
      ? movedOn(schedule, due)
      : // The rest waits for room.
        {
          ...movedOn(schedule, { dues, nextMs: due.dues[dues.length] }),
          retryAtMs: patiently(nowMs + FULL_RETRY_MS),
        }
  if (dues.length === 0) return write(engine, schedule, after)
  const entries = entriesOf(engine, item.text, dues, nowMs)
  return write(engine, schedule, after, await additionOf(engine, schedule, entries))
}

/**
 * Loads the calendar when a cron schedule first needs it: a process without one never does. It takes all times from
 * its caller, and none from a clock.
 */
export async function timesOf({
  timing,
  startsAtMs,
  endsAtMs,
}: Pick<Schedule, 'timing' | 'startsAtMs' | 'endsAtMs'>): Promise<Times> {
  const times =
    'cron' in timing
      ? cronTimes((await import('croner')).Cron, timing)
      : intervalTimes(timing.baseMs, timing.everySeconds)
  return withinBounds(times, { startsAtMs, endsAtMs })
}

/** These errors go away by themselves, or with a deployment: the next sweep tries again. */
const passing: readonly ErrorCode[] = [
  'FORMAT_UNKNOWN',
  'BUSY',
  'STORE_UNAVAILABLE',
  'SEGMENT_UNAVAILABLE',
]

/**
 * The queue refused it for a reason that its owner must fix: the schedule says why, and waits. For the sweep it is
 * done; otherwise the sweep would try each minute and raise an alarm until the owner acts.
 */
function putOff(engine: Engine, schedule: Schedule, nowMs: number, error: unknown): Promise<Step> {
  const isRefused =
    error instanceof QueueError && error.outcome !== 'unknown' && !passing.includes(error.code)
  if (!isRefused) throw error
  engine.onBackgroundError(error, { queue: schedule.queue, step: 'schedule' })
  const retryAtMs = patiently(nowMs + REFUSED_RETRY_MS)
  return write(engine, schedule, next(schedule, { retryAtMs, refused: error.message }))
}

const next = (schedule: Schedule, change: Partial<Schedule>): Schedule => ({
  ...schedule,
  ...change,
  version: schedule.version + 1,
})

function movedOn(schedule: Schedule, { dues, nextMs }: DueOccurrences): Schedule {
  const lastMs = dues.at(-1) ?? schedule.lastMs
  return next(schedule, { nextMs, lastMs, retryAtMs: undefined, refused: undefined })
}

/**
 * The queue's record, with the lane that the items go to. Only a record that we have just read may say that there is no
 * room (rule 7).
 */
async function recordFor(
  engine: Engine,
  { queue, priority }: Schedule,
  items: number,
): Promise<QueueRecord> {
  const record = await ensureLane(engine, queue, priority)
  if (record.room >= items) return record
  const current = await engine.records.read(queue)
  return (current && (await makeRoom(engine, current, items))) ?? record
}

/**
 * Each item keeps the time at which it was due. Its push has the time at which we looked, which is never earlier,
 * whatever the clock does.
 */
const entriesOf = (
  engine: Engine,
  text: string,
  dues: readonly number[],
  pushedAtMs: number,
): readonly string[] =>
  dues.map((dueMs) => encodeItem({ text, pushedAtMs, dueMs }, randomText(engine.random, 4)))

/** Large ones go by reference. */
async function additionOf(
  engine: Engine,
  { queue, priority }: Schedule,
  entries: readonly string[],
): Promise<Append> {
  const lanes = new Map([[priority, entries]])
  const inline = appendOf(lanes)
  return inline.bytes <= INLINE_BYTES_MAX ? inline : byReference(engine, queue, lanes)
}

/** The schedule's move and the append: both or neither. */
async function write(
  engine: Engine,
  before: Schedule,
  after: Schedule,
  addition?: Append,
): Promise<Step> {
  const { queue } = before
  const limits = engine.records.tailLimits()
  const TransactItems = [
    ...replacement(engine.dynamo.tableName, before, after, engine.clock.nowMs()),
  ]
  if (addition !== undefined) TransactItems.push(appendTo(engine, queue, addition))
  const sending = engine.dynamo.transact({ TransactItems: TransactItems as never })
  const written = await bringing(engine, queue, addition, sending)
  if (addition !== undefined) engine.records.forget(queue)
  const pushed = addition?.items ?? 0
  if (written.kind === 'done') return { pushed, schedule: after }
  if (written.kind === 'unknown') {
    const current = await reread(engine, before)
    const hasMoved = current?.tag === before.tag && current.version > before.version
    return { pushed: hasMoved ? pushed : 0, schedule: current, isLost: !hasMoved }
  }
  if (addition === undefined)
    return { pushed: 0, schedule: await reread(engine, before), isLost: true }
  // The refusal is certain, and only we know the batch's id: nothing will ever refer to it.
  await discardBatches(engine, queue, addition)
  const [own, target] = written.reasons
  if (own?.failed) {
    return { pushed: 0, schedule: own.row && decodeSchedule(own.row), isLost: true }
  }
  const record = engine.records.seen(queue, target?.row)
  if (record !== undefined && obstacleTo(addition, record, limits).kind === 'tail-full') {
    await sealQuietly(engine, record)
  }
  return { pushed: 0, schedule: before, isLost: true }
}

/** The queue's capacity applies, as for a push; its push limit, which is for callers, does not. */
const appendTo = (engine: Engine, queue: string, addition: Append): RowWrite => ({
  Update: {
    TableName: engine.dynamo.tableName,
    Key: recordKey(queue),
    ...appendUpdate(addition, engine.records.tailLimits(), {
      pass: 'free',
      remindAtMs: engine.records.remindAtMs(),
    }),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  },
})

/** We write both rows together, so a person has deleted one by hand. */
const withoutItem = ({ queue, name }: Schedule): QueueError =>
  new QueueError(
    'SCHEDULE_NOT_FOUND',
    `Cannot run schedule "${name}" of queue "${queue}" because its item is gone; put it again`,
  )

/** How often a put may come between the reads of the two rows: nobody changes a schedule that often. */
const READS_MAX = 5

export type WholeSchedule = Schedule & { readonly text: string }

/** The schedule with its item. */
export async function schedule(
  engine: Engine,
  queue: string,
  name: string,
): Promise<WholeSchedule> {
  checkQueueId(queue)
  checkScheduleName(name)
  for (let read = 1; read <= READS_MAX; read += 1) {
    const found = await readSchedule(engine, queue, name)
    if (found === undefined) throw noSuchSchedule(queue, name)
    const item = await readScheduleItem(engine, found)
    if (item?.mark === found.itemMark) return { ...found, text: item.text }
  }
  throw QueueError.busy(queue)
}

/** All schedules of a queue, by name, without their items. */
export async function schedules(engine: Engine, queue: string): Promise<readonly Schedule[]> {
  checkQueueId(queue)
  const found: Schedule[] = []
  let from: Record<string, unknown> | undefined
  do {
    const { rows, next } = await engine.dynamo.query({
      KeyConditionExpression: 'pk=:pk',
      ExpressionAttributeValues: { ':pk': schedulesPartition(queue) },
      ConsistentRead: true,
      ...(from !== undefined && { ExclusiveStartKey: from }),
    })
    found.push(...rows.map(decodeSchedule))
    from = next
  } while (from !== undefined)
  return found
}

export async function readSchedule(
  { dynamo }: Engine,
  queue: string,
  name: string,
): Promise<Schedule | undefined> {
  const row = await dynamo.get(scheduleKey(queue, name), true)
  return row && decodeSchedule(row)
}

const reread = (engine: Engine, { queue, name }: Schedule): Promise<Schedule | undefined> =>
  readSchedule(engine, queue, name)

export const readScheduleItem = async (
  { dynamo }: Engine,
  { queue, name }: Pick<Schedule, 'queue' | 'name'>,
): Promise<ScheduleItem | undefined> =>
  decodeScheduleItem(await dynamo.get(scheduleItemKey(queue, name), true))

export const noSuchSchedule = (queue: string, name: string): QueueError =>
  new QueueError('SCHEDULE_NOT_FOUND', `Queue "${queue}" has no schedule "${name}"`, {
    field: 'name',
  })
