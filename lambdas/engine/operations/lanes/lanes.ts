import { QueueError } from '../../../foundation/errors.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { type Append, obstacleTo } from '../../core/append.ts'
import { type Configuration, roomOf } from '../../core/configuration.ts'
import { recordKey } from '../../core/keys.ts'
import { FORGET_AFTER_MS, LANES_MAX, ROOMY_TAIL } from '../../core/limits.ts'
import { EPOCH_CHARACTERS, endOf, type QueueRecord } from '../../core/record.ts'
import type { StoredRecord } from '../../core/stored-record.ts'
import { patiently } from '../../core/timers.ts'
import { appendUpdate, newRecord } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, asStored, look, type Outcome } from '../attempts/decision.ts'
import { type Engine, newMark, readRecord, remindAtMs, seen } from '../attempts/engine.ts'
import { putFirst } from '../attempts/first-record.ts'
import { firstConfiguration } from '../attempts/patterns.ts'
import { remindInTime } from '../attempts/remind-in-time.ts'
import { missingLanes } from './entries.ts'
import { type Chores, housekeepRecord } from './housekeep-record.ts'
import { sealAfter } from './seal.ts'

// The lanes that a push, a move or a caller's transaction needs, and the record around them.

const ATTEMPTS_MAX = 40

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
    const record = seen(engine, queue, item) as QueueRecord
    await sealAfter(engine, record, addition.bytes)
    return answerBy(record)
  })
}

/** Whether a queue's first record may hold the items of the push that makes it. */
export const mayBringItems = (configuration: Configuration, { items }: Append): boolean =>
  items === 0 || (configuration.pushLimit === undefined && items <= roomOf(configuration))

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
  if (written.kind === 'unknown') return again(asStored(await readRecord(engine, queue)))
  return again(asStored(seen(engine, queue, written.kind === 'done' ? item : written.row)))
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
    addition.items === 0 ? patiently(engine.clock.nowMs() + FORGET_AFTER_MS) : remindAtMs(engine)
  return newRecord(queue, born, newMark(engine), lanes, addition, { checkAtMs, configuration })
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
    const left = await readRecord(engine, queue)
    // Others may have dropped them meanwhile.
    if (report.dropped > 0 || (left?.lanes.size ?? 0) < record.lanes.size) return left
  }
  throw tooManyPriorities(queue)
}

const tooManyPriorities = (queue: string): QueueError =>
  new QueueError(
    'TOO_MANY_PRIORITIES',
    `Cannot use another priority in queue "${queue}" because ${LANES_MAX} have items in them already`,
    { field: 'priority' },
  )

/**
 * Refuses what needs more lanes than there can be at once: to make room for the last of them, we would drop those that
 * we have just made for the others, because they are empty.
 */
export function checkLanesFit({ queue, lanes }: QueueRecord, priorities: Iterable<number>): void {
  const used = new Set(priorities)
  for (const [priority, lane] of lanes) if (lane.head < endOf(lane)) used.add(priority)
  if (used.size > LANES_MAX) throw tooManyPriorities(queue)
}

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
  const known = engine.memory.get(queue)
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
  const written = await engine.dynamo.update(recordKey(queue), update)
  return written.kind === 'unknown' ? readRecord(engine, queue) : seen(engine, queue, written.row)
}
