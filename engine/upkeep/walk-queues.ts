// Two walks through all queues, page by page: one announces every queue that waits for somebody, when a person asks
// for it; the other gives a timer to those that lack one, once a day. A queue that cannot be read or written is
// skipped and reported. A walk that runs out of time says where the next call goes on. Queues change meanwhile: each
// gets a fenced write by its record as it is then, or none.

import { QueueError } from '../../shared/errors.ts'
import { announced, lacksTimer, waitsForSomebody } from '../core/fence.ts'
import { timersKey } from '../core/keys.ts'
import { SHARDS } from '../core/limits.ts'
import { endThose, hasAny, isToEnd } from '../core/locks.ts'
import type { QueueRecord } from '../core/record.ts'
import { attempts } from '../driver/attempts.ts'
import { again, answer, asStored, done } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import {
  checkPrefix,
  type WalkPage,
  type WalkPlace,
  walkOn,
  walkStart,
} from '../verbs/list-queues.ts'
import { sideBySide } from './due-queues.ts'

export type AnnounceRequest = {
  /**
   * Says that no run of a consumer is alive anywhere, so the call first ends their locks. If a run is alive after all,
   * its items come twice. Items that wait for their retry go on waiting.
   */
  readonly consumersAreGone?: boolean
  /** Only queues whose ids begin with this. Default: all. */
  readonly prefix?: string | undefined
  /** Where an earlier call stopped. */
  readonly cursor?: string | undefined
  readonly deadlineMs?: number | undefined
}

export type AnnounceReport = {
  /** How many queues it looked at, whether or not it could read them. */
  readonly queues: number
  readonly announced: number
  /** How many it could not announce because of an error; the errors went to `onBackgroundError`. */
  readonly failed: number
  /** There are more queues: go on from here. */
  readonly cursor?: string
}

export type StartTimersReport = {
  readonly queues: number
  readonly started: number
  /** How many it skipped because it could not read or write their records; a later walk comes to them again. */
  readonly failed: number
  /** No further walk is needed, or none would help. */
  readonly finished: boolean
}

export interface WalkingVerbs {
  /** Announces every queue that has items and no consumer at work, for consumers that were repaired or are new. */
  announceWaiting(request?: AnnounceRequest): Promise<AnnounceReport>
  /** Gives a timer to queues whose items came without one. Once a day, a walk through all queues is due. */
  startTimers(request: { readonly deadlineMs: number }): Promise<StartTimersReport>
}

const QUEUES_AT_ONCE = 16
/** As for the sweep: 2,000 items in consumers' locks at 40 a write, and room for lost races. */
const ANNOUNCE_ATTEMPTS_MAX = 80
/** How long a call runs if its caller sets no deadline. */
const RUN_MS = 60_000

/**
 * Announces every queue that has free items and no live lock, no matter when it was last announced: for a
 * consumer that was repaired, or is new, and should not wait for the next reminder.
 */
export async function announceWaiting(
  engine: Engine,
  request: AnnounceRequest = {},
): Promise<AnnounceReport> {
  const {
    prefix = '',
    deadlineMs = engine.clock.nowMs() + RUN_MS,
    consumersAreGone = false,
  } = request
  checkPrefix(prefix)
  let place: WalkPlace | undefined =
    request.cursor === undefined ? walkStart : decodePlace(request.cursor)
  const report = { queues: 0, announced: 0, failed: 0 }
  while (place !== undefined && engine.clock.nowMs() < deadlineMs) {
    const page: WalkPage | undefined = await nextPage(engine, prefix, place, report)
    // The answer says what we have done so far, and where to go on.
    if (page === undefined) break
    report.queues += page.records.length + page.unread.length
    for (const { queue, error } of page.unread) skipped(engine, 'announce', queue, error, report)
    const over = isToEnd(engine.clock.nowMs(), consumersAreGone)
    const waiting = page.records.filter(
      (record) => waitsForSomebody(record) || hasAny(record, over),
    )
    await sideBySide(waiting, QUEUES_AT_ONCE, async (record) => {
      try {
        if (await announce(engine, record, consumersAreGone)) report.announced += 1
      } catch (error) {
        skipped(engine, 'announce', record.queue, error, report)
      }
    })
    place = page.next
  }
  return { ...report, ...(place && { cursor: encodePlace(place) }) }
}

type Report = { -readonly [K in keyof Omit<AnnounceReport, 'cursor'>]: AnnounceReport[K] }

/** Returns nothing if the store is out of reach and earlier pages were done. */
async function nextPage(
  engine: Engine,
  prefix: string,
  place: WalkPlace,
  report: Report,
): Promise<WalkPage | undefined> {
  try {
    return await walkOn(engine, prefix, place)
  } catch (error) {
    if (report.queues === 0) throw error
    skipped(engine, 'announce', '', error, report)
    return undefined
  }
}

function announce(engine: Engine, seen: QueueRecord, consumersAreGone: boolean): Promise<boolean> {
  const course = { from: asStored(seen), attemptsMax: ANNOUNCE_ATTEMPTS_MAX }
  return attempts<boolean>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined) return answer(false)
    const over = isToEnd(nowMs, consumersAreGone)
    const freed = endThose(record, over, nowMs)
    const waits = waitsForSomebody(freed)
    // Somebody has a live lock, whose end will make the event.
    if (freed === record && !waits) return answer(false)
    const options = { nowMs, refreshCheckAt: true }
    const change = engine.records.change(record, waits ? announced(freed, nowMs) : freed, options)
    // One write ends a limited number of locks.
    const landed = (after: QueueRecord) =>
      hasAny(after, over) ? again(asStored(after)) : done(waits)
    return { kind: 'write', change, landed }
  })
}

/** `3/orders`: in shard 3, after the queue "orders". */
const encodePlace = ({ shard, after = '' }: WalkPlace): string => `${shard}/${after}`

function decodePlace(cursor: string): WalkPlace {
  const [, shard, after] = /^(\d{1,2})\/([A-Za-z0-9._-]{0,111})$/.exec(cursor) ?? []
  if (shard === undefined || Number(shard) >= SHARDS) {
    throw new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier call gave', {
      field: 'cursor',
    })
  }
  return { shard: Number(shard), ...(after && { after }) }
}

const START_ATTEMPTS_MAX = 4
/** We note the place after this many pages, so that little is repeated after a run was cut off. */
const PAGES_PER_NOTE = 10
/**
 * A process may die at any time before it has brought a timer near, so the walk is repeated. A page of 100 queues is
 * one query and one read of 100 records, some 100 read units: 50,000 queues once a day cost about $0.20 a month, 1,000
 * less than a cent.
 */
const WALK_EVERY_MS = 86_400_000
/**
 * After a walk that had to skip some queues, the next comes sooner, after twice as long each time: we can read a
 * throttled record soon, and one of a newer format once somebody has deployed this engine anew.
 */
const NEXT_WALK_MS = 3_600_000

/**
 * `shard` and `after`: where the walk goes on; neither once it is done. `againAtMs`: when the next begins.
 * `failed`: queues that this walk has skipped so far. `walks`: how many in a row skipped some.
 */
type StoredWalk = {
  readonly shard?: number
  readonly after?: string
  readonly againAtMs?: number
  readonly failed?: number
  readonly walks?: number
}

/**
 * Waiting items have a timer, because every push sees to it. But items that were pushed while events were
 * off, or by a process that has no events, have none; and a process may have died before it brought a timer near that
 * was too far away. So the sweeper goes through all queues once events are turned on, and then once a day; a row
 * of the table remembers how far it has come, and when the next walk begins. If events are off, we delete that row.
 */
export async function startTimers(
  engine: Engine,
  { deadlineMs }: { readonly deadlineMs: number },
): Promise<StartTimersReport> {
  const row = (await engine.dynamo.get(timersKey, true)) as StoredWalk | undefined
  const report = { queues: 0, started: 0, failed: 0 }
  if (!engine.events) {
    if (row !== undefined) await engine.dynamo.deleteMany([timersKey])
    return { ...report, finished: true }
  }
  const { walks = 0, failed: failedBefore = 0 } = row ?? {}
  let place = placeIn(row, engine.clock.nowMs())
  for (let page = 1; place !== undefined && engine.clock.nowMs() < deadlineMs; page += 1) {
    const { records, unread, next } = await walkOn(engine, '', place)
    report.queues += records.length + unread.length
    for (const { queue, error } of unread) skipped(engine, 'start-timer', queue, error, report)
    const nowMs = engine.clock.nowMs()
    const waiting = records.filter((record) => lacksTimer(record, nowMs))
    await sideBySide(waiting, QUEUES_AT_ONCE, async (record) => {
      try {
        if (await startTimer(engine, record)) report.started += 1
      } catch (error) {
        skipped(engine, 'start-timer', record.queue, error, report)
      }
    })
    place = next
    const isLast = place === undefined || engine.clock.nowMs() >= deadlineMs
    if (!isLast && page % PAGES_PER_NOTE !== 0) continue
    const failed = failedBefore + report.failed
    const stored: StoredWalk =
      place === undefined ? afterWalk(engine, failed, walks) : { ...place, failed, walks }
    await engine.dynamo.putMany([{ ...timersKey, ...stored }])
  }
  return { ...report, finished: place === undefined }
}

function afterWalk(engine: Engine, failed: number, walks: number): StoredWalk {
  const nowMs = engine.clock.nowMs()
  if (failed === 0) return { againAtMs: nowMs + WALK_EVERY_MS }
  const pauseMs = Math.min(WALK_EVERY_MS, NEXT_WALK_MS * 2 ** walks)
  return { againAtMs: nowMs + pauseMs, walks: walks + 1 }
}

function placeIn(row: StoredWalk | undefined, nowMs: number): WalkPlace | undefined {
  if (row === undefined) return walkStart
  const { shard, after, againAtMs = 0 } = row
  if (shard !== undefined) return { shard, ...(after !== undefined && { after }) }
  return nowMs < againAtMs ? undefined : walkStart
}

/** Any fenced write starts the timer. If ours loses to another, it was not needed, or we try it again. */
function startTimer(engine: Engine, seen: QueueRecord): Promise<boolean> {
  const course = {
    from: asStored(seen),
    attemptsMax: START_ATTEMPTS_MAX,
    exhausted: () => false,
  }
  return attempts<boolean>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined || !lacksTimer(record, nowMs)) return answer(false)
    const change = engine.records.change(record, record, { nowMs })
    return { kind: 'write', change, landed: () => done(true) }
  })
}

function skipped(
  engine: Engine,
  step: 'announce' | 'start-timer',
  queue: string,
  error: unknown,
  report: { failed: number },
): void {
  report.failed += 1
  engine.onBackgroundError(error, { queue, step })
}
