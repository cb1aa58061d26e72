// The record and the lanes that a push, a move or a caller's transaction needs. Any process may make them: the second to
// come goes on with what is there. A queue has a limited number of lanes, so empty ones make room for others. Only
// housekeeping drops them, so the housekeeping of one record is here as well. It copies, deletes and moves pointers in
// rounds; if it cannot finish, or others write first too often, it leaves a timer for the sweeper.

import { QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { type Append, obstacleTo } from '../core/append.ts'
import { isTooFar } from '../core/fence.ts'
import { isAnythingDue, planHousekeeping } from '../core/housekeeping.ts'
import { FORGET_AFTER_MS, HOUSEKEEPING_RETRY_MS, LANES_MAX, ROOMY_TAIL } from '../core/limits.ts'
import { EPOCH_CHARACTERS, endOf, patiently, type QueueRecord } from '../core/record.ts'
import { hasOldNotes } from '../core/repeated-pushes.ts'
import { type Configuration, roomOf } from '../core/settings.ts'
import type { StoredRecord } from '../core/stored-record.ts'
import { attempts } from '../driver/attempts.ts'
import {
  act,
  again,
  answer,
  asStored,
  done,
  doubt,
  look,
  lost,
  type Outcome,
} from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { firstConfiguration } from '../driver/queue-settings.ts'
import { appendUpdate, newRecord } from '../requests/append-update.ts'
import { checkAtUpdate } from '../requests/blind-updates.ts'
import { dropLateCopies, moveOn, type Report, workOn } from './keep-segments.ts'
import { moveNotes, seal, sealAfter } from './seal.ts'
import { missingLanes } from './write-entries.ts'

const ATTEMPTS_MAX = 40

/**
 * Prepares a queue for a transaction, which can append only to a lane that exists, and does not return the record that
 * would show how far away its timer is.
 */
export async function ensureLane(
  engine: Engine,
  queue: string,
  priority: number,
): Promise<QueueRecord> {
  const record = await laneIn(engine, queue, priority)
  await remindInTime(engine, record)
  return record
}

/**
 * Makes an empty lane if there is none. This adds no items and no bytes, so a full queue and a full tail do not matter.
 */
async function laneIn(engine: Engine, queue: string, priority: number): Promise<QueueRecord> {
  const nothing: Append = { lanes: new Map([[priority, []]]), items: 0, bytes: 0 }
  // Memory will do: if the lane is gone, the transaction fails.
  const known = engine.records.recall(queue)
  if (known?.lanes.has(priority)) return known
  const course = { from: 'memory-or-store', attemptsMax: ATTEMPTS_MAX } as const
  return attempts<QueueRecord>(engine, queue, course, ({ record, isCurrent }) => {
    if (record?.lanes.has(priority)) return answer(record)
    if (record === undefined) {
      return act(() => makeRecord(engine, queue, nothing, (made) => made))
    }
    const isTooMany = obstacleTo(nothing, record, ROOMY_TAIL).kind === 'too-many-lanes'
    // Others may have made room since this process saw the queue.
    if (isTooMany && !isCurrent) return look
    return act(async () =>
      again(
        asStored(
          isTooMany
            ? await makeRoomForLanes(engine, record)
            : await makeLanes(engine, record, nothing),
        ),
      ),
    )
  })
}

/** It does not matter which process makes them; the caller goes on with what is there. */
async function makeLanes(
  engine: Engine,
  record: QueueRecord,
  nothing: Append,
): Promise<QueueRecord | undefined> {
  const { queue } = record
  const newLanes = missingLanes(engine, nothing, record)
  const update = appendUpdate(nothing, ROOMY_TAIL, { newLanes, anyway: true })
  const written = await engine.records.update(queue, update)
  return engine.records.after(queue, written)
}

/**
 * The first push to a queue makes its record. If the queue's pattern sets a limit, or not enough room, the push makes
 * the record without its items and goes on like any other push.
 */
export async function makeRecord<T>(
  engine: Engine,
  queue: string,
  addition: Append,
  answerBy: (record: QueueRecord) => T,
): Promise<Outcome<T>> {
  const configuration = await firstConfiguration(engine, queue)
  if (!mayBringItems(configuration, addition)) return makeEmpty(engine, queue, configuration)
  const item = firstRecord(engine, queue, addition, configuration)
  return putFirst(engine, queue, item, async () => {
    const record = engine.records.seen(queue, item) as QueueRecord
    await sealAfter(engine, record, addition.bytes)
    return answerBy(record)
  })
}

/** Whether a queue's first record may hold the items of the push that makes it. */
const mayBringItems = (configuration: Configuration, { items }: Append): boolean =>
  items === 0 || (configuration.pushLimit === undefined && items <= roomOf(configuration))

/** Puts a queue's first record, unless it has one. Only this call knows `born`: it decides a lost answer. */
export async function putFirst<T>(
  engine: Engine,
  queue: string,
  item: StoredRecord,
  landed: () => T | Promise<T>,
): Promise<Outcome<T>> {
  const written = await engine.dynamo.put({
    Item: item,
    ConditionExpression: 'attribute_not_exists(pk)',
  })
  if (written.kind === 'done') return done(await landed())
  if (written.kind === 'failed') return again(asStored(engine.records.seen(queue, written.row)))
  return doubt(written.cause, async () => {
    const current = await engine.records.read(queue)
    if (current?.born !== item.born) throw QueueError.unknown(queue, written.cause)
    return done(await landed())
  })
}

/** It does not matter which process makes the record; the caller goes on with what is there. */
export async function makeEmpty(
  engine: Engine,
  queue: string,
  configuration: Configuration,
): Promise<Outcome<never>> {
  const nothing: Append = { lanes: new Map(), items: 0, bytes: 0 }
  const item = firstRecord(engine, queue, nothing, configuration)
  const ConditionExpression = 'attribute_not_exists(pk)'
  const written = await engine.dynamo.put({ Item: item, ConditionExpression })
  if (written.kind === 'unknown') return again(asStored(await engine.records.read(queue)))
  return again(asStored(engine.records.seen(queue, written.kind === 'done' ? item : written.row)))
}

/** No other process knows its `born`, so that decides a lost answer. */
function firstRecord(
  engine: Engine,
  queue: string,
  addition: Append,
  configuration: Configuration,
): StoredRecord {
  const lanes = missingLanes(engine, addition, undefined, configuration)
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  // We may make a record for a transaction that never comes. Nobody pops from it, so the timer lets it go.
  const checkAtMs =
    addition.items === 0
      ? patiently(engine.clock.nowMs() + FORGET_AFTER_MS)
      : engine.records.remindAtMs()
  return newRecord(queue, born, engine.records.newMark(), lanes, addition, {
    checkAtMs,
    configuration,
  })
}

/**
 * Drops empty lanes, and returns the record after that. If no lane can go, it refuses, so the record must be
 * the one that the store has now (rule 7). A push passes `bury`, because lanes whose items are all dead are
 * empty once these have moved; a move does not, because moving the dead needs a lane itself.
 */
export async function makeRoomForLanes(
  engine: Engine,
  record: QueueRecord,
  bury?: Chores['bury'],
): Promise<QueueRecord | undefined> {
  const { queue } = record
  const empty = [...record.lanes.values()].filter((lane) => lane.head === endOf(lane)).length
  if (empty > 0) {
    const report = await housekeepRecord(engine, queue, record, { dropEmpty: true, bury })
    // Not from memory: another call of this process may have put an older record there meanwhile.
    const left = await engine.records.read(queue)
    // Others may have dropped them meanwhile.
    if (report.dropped > 0 || (left?.lanes.size ?? 0) < record.lanes.size) return left
  }
  throw tooManyPriorities(queue)
}

/**
 * Refuses what needs more lanes than there can be at once: to make room for the last of them, we would drop those that
 * we have just made for the others, because they are empty.
 */
export function checkLanesFit({ queue, lanes }: QueueRecord, priorities: Iterable<number>): void {
  const used = new Set(priorities)
  for (const [priority, lane] of lanes) if (lane.head < endOf(lane)) used.add(priority)
  if (used.size > LANES_MAX) throw tooManyPriorities(queue)
}

const tooManyPriorities = (queue: string): QueueError =>
  new QueueError(
    'TOO_MANY_PRIORITIES',
    `Cannot use another priority in queue "${queue}" because ${LANES_MAX} have items in them already`,
    { field: 'priority' },
  )

/** A push larger than the whole capacity never fits, however long its caller waits. */
export function queueFull(
  { queue, configuration: { capacity } }: QueueRecord,
  items: number,
): QueueError {
  if (capacity !== undefined && items > capacity) {
    return new QueueError(
      'QUEUE_FULL',
      `Cannot push more than ${capacity} items at once to queue "${queue}" because that is its capacity; push them in parts`,
      { isFinal: true },
    )
  }
  return new QueueError(
    'QUEUE_FULL',
    `Cannot push to queue "${queue}" because it would hold more than its capacity of ${capacity} items`,
  )
}

/**
 * An append starts a timer only if there is none, and cannot know how far away the one that is there may be: an item
 * may be due in a year, and an empty queue of the inbox is kept for two weeks. So each append brings such a timer near
 * with another write, before it or after. If that does not come about, the daily walk does it (`walk-queues.ts`).
 */
export async function remindInTime(engine: Engine, record: QueueRecord): Promise<void> {
  const { queue } = record
  const atMs = engine.records.remindAtMs()
  const nowMs = engine.clock.nowMs()
  if (atMs === undefined || !isTooFar(record, nowMs)) return
  try {
    const update = checkAtUpdate(record, atMs, nowMs)
    const written = await engine.records.update(queue, update)
    // If the timer has moved meanwhile, somebody else has seen to it.
    if (written.kind !== 'unknown') engine.records.seen(queue, written.row)
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    engine.onBackgroundError(error, { queue, step: 'start-timer' })
  }
}

/** How much one run may do; if more is left, the run's last write wakes the next one. */
const ROUNDS_MAX = 6

type Buried = { readonly moved: number; readonly failure: unknown }

type Chores = {
  /** Drops every empty lane. */
  readonly dropEmpty: boolean
  /** Moves the dead. The caller passes it in: it makes lanes, and making room for a lane calls this file. */
  readonly bury?: ((engine: Engine, queue: string) => Promise<Buried>) | undefined
}

const nothingDone: Report = {
  sealed: 0,
  offloaded: 0,
  recalled: 0,
  trimmed: 0,
  deadLettered: 0,
  dropped: 0,
  finished: false,
}

export async function housekeepRecord(
  engine: Engine,
  queue: string,
  first: QueueRecord | undefined,
  { dropEmpty, bury }: Chores,
): Promise<Report> {
  const report: Report = { ...nothingDone }
  let record = first
  let stuck: unknown
  let isDeadLeft = bury === undefined
  try {
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      if (record === undefined) return { ...report, finished: true }
      const plan = planHousekeeping(record, dropEmpty)
      const sealed = plan.seal ? await seal(engine, record) : 0
      report.sealed += sealed
      const movesNotes = hasOldNotes(record, engine.clock.nowMs())
      if (movesNotes) await moveNotes(engine, record)
      const buries = plan.dead.length > 0 && !isDeadLeft
      if (buries && bury !== undefined) {
        const buried = await bury(engine, queue)
        report.deadLettered += buried.moved
        stuck = buried.failure
        isDeadLeft = stuck !== undefined
      }
      if (plan.seal || movesNotes || buries) record = await engine.records.read(queue)
      if (record === undefined) return { ...report, finished: true }
      const planned: QueueRecord = record
      const { work, failed } = await workOn(engine, planned, planHousekeeping(planned, dropEmpty))
      if (work.length === 0 && failed.length === 0 && !planned.work) {
        return { ...report, finished: true }
      }
      record = await moveOn(engine, planned, work, report)
      await dropLateCopies(engine, planned, [...work, ...failed.map(({ item }) => item)])
      const [failure] = failed
      if (failure !== undefined) {
        record = await engine.records.read(queue)
        // The queue has moved on, and the items that the plan would copy are gone: plan again.
        if (record?.version === planned.version) {
          engine.items.stillThere(planned)
          throw failure.error
        }
        continue
      }
      if (record === undefined) return { ...report, finished: true }
      const left = planHousekeeping(record, dropEmpty)
      if (!isAnythingDue(isDeadLeft ? { ...left, dead: [] } : left)) {
        const finished = stuck === undefined && left.dead.length === 0
        if (finished || (stuck === undefined && hasTimer(engine, record))) {
          return { ...report, finished }
        }
        break
      }
    }
    if (stuck !== undefined) engine.onBackgroundError(stuck, { queue, step: 'dead-letter' })
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'housekeep' })
  }
  await lookAgain(engine, queue)
  return report
}

/** Whether the sweeper comes at least as soon as it would for a timer set now. */
const hasTimer = (engine: Engine, { checkAtMs }: QueueRecord): boolean =>
  checkAtMs !== undefined && checkAtMs <= engine.clock.nowMs() + HOUSEKEEPING_RETRY_MS

/** Writes that leave a timer for the next run, each on the record that the one before it met. */
const LOOKS_MAX = 8

/** Leaves a timer for the sweeper. It is always safe to lower `checkAt`, at any version. */
export async function lookAgain(engine: Engine, queue: string): Promise<void> {
  const course = { from: 'memory-or-store', attemptsMax: LOOKS_MAX, pausesFrom: 2 } as const
  await attempts<void>(engine, queue, course, ({ record, nowMs }) => {
    if (record === undefined) return answer(undefined)
    return act(async () => {
      const update = checkAtUpdate(record, patiently(nowMs + HOUSEKEEPING_RETRY_MS), nowMs)
      const written = await engine.records.update(queue, update)
      const left = asStored(await engine.records.after(queue, written))
      // To set it once more does no harm.
      return written.kind === 'done' ? done(undefined) : lost(left)
    })
  }).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'look-again' })
  })
}
