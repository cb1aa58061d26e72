// One round over all queues whose timers have come: ends their locks, joins what is due, runs their schedules, and
// moves their timers on. Sweeps and Wake both do this, and may meet in one queue: each visit is a fenced write, and
// its timer moves only with that, so who loses looks again, and a run that dies leaves the timer due for the next one.
// What may take long (rows, S3) is left over for the caller.

import type { Row } from '../../aws/dynamo.ts'
import { isFormatUnknown } from '../../shared/errors.ts'
import { isQuiet, remind } from '../core/fence.ts'
import { isUntidy } from '../core/later.ts'
import { endExpired, foldDone } from '../core/locks.ts'
import { mayJoin } from '../core/plan-join.ts'
import { isDone, isExpired, isNear, itemsIn, type QueueRecord } from '../core/record.ts'
import { hasOldNotes } from '../core/repeated-pushes.ts'
import { checkAtOf, isDue } from '../core/schedule.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, answer, asStored, done } from '../driver/decision.ts'
import { boundedBy, type Engine } from '../driver/engine.ts'
import { decodeSchedule } from '../requests/schedule-rows.ts'
import { sealLaterQuietly } from '../storing/copy-later.ts'
import { join } from '../storing/join-due.ts'
import { type DuePushed, pushDue } from '../verbs/push-due.ts'
import {
  type DueQueue,
  type DueSchedules,
  dueQueues,
  type FoundDue,
  type SweepFailure,
  sideBySide,
  type Timer,
  type Unreadable,
} from './due-queues.ts'

export type SweepReport = {
  readonly queues: number
  readonly itemsReturned: number
  readonly itemsDeadLettered: number
  /** Items that schedules pushed. */
  readonly occurrencesPushed: number
  /**
   * How long the lock that waited longest had been over, of those that this sweep ended; or how long the earliest
   * timer has been over, of the queues that it met but did not serve.
   */
  readonly lagMs: number
  readonly failed: readonly SweepFailure[]
  /** Something was left for the next run. */
  readonly more: boolean
  /** When the first prompt timer ends, if that is within a minute and a half. */
  readonly nextDueMs?: number
}

/** What a sweep has done so far. */
export type Report = { -readonly [K in keyof SweepReport]: SweepReport[K] } & {
  failed: SweepFailure[]
}

export const nothingYet = (): Report => ({
  queues: 0,
  itemsReturned: 0,
  itemsDeadLettered: 0,
  occurrencesPushed: 0,
  lagMs: 0,
  failed: [],
  more: false,
})

export type LeftOver = { readonly queue: string; readonly left: 'housekeeping' | 'forgetting' }

type Bounds = {
  readonly deadlineMs: number
  readonly queuesMax: number
  readonly shards: readonly number[]
  /** Chooses which due timers to visit. Default: all. */
  readonly isWanted?: ((due: Timer) => boolean) | undefined
}

type Ended = {
  readonly left: readonly LeftOver[]
  readonly patternsAreDue: boolean
}

/**
 * Mostly, a visit is one write that waits for the store: at 5 ms an answer, 32 visits keep a core busy
 * and end the locks of 20,000 queues in some ten seconds.
 */
const VISITS_AT_ONCE = 32
/** How many queues one run notes for later. The timers of the others stay due, so a later run meets them again. */
const LEFT_MAX = 10_000

/** No visit waits for another, and none sends a request once the time is up, so we then end soon. */
export async function endLocks(
  engine: Engine,
  report: Report,
  { deadlineMs, queuesMax, shards, isWanted }: Bounds,
): Promise<Ended> {
  const left: LeftOver[] = []
  const bounded = boundedBy(engine, deadlineMs)
  const mayGoOn = (): boolean => report.queues < queuesMax && engine.clock.nowMs() < deadlineMs
  let isCut = false
  let patternsAreDue = false
  const endLocksOf = async (due: FoundDue): Promise<void> => {
    if (due.kind === 'patterns') {
      patternsAreDue = true
      return
    }
    if (due.kind === 'next') {
      comesDue(report, due.atMs)
      return
    }
    if (due.kind === 'schedules') return sweepSchedules(bounded, due, report, deadlineMs)
    if (due.kind !== 'queue') {
      isCut ||= due.kind === 'cut'
      passOver(engine, due, report)
      return
    }
    if (!mayGoOn()) {
      isCut = true
      late(engine, due.dueMs, report)
      return
    }
    report.queues += 1
    const over = await visit(bounded, due, report, deadlineMs)
    if (over === 'nothing') return
    if (over === 'locks') late(engine, due.dueMs, report)
    else if (left.length < LEFT_MAX) left.push({ queue: due.queue, left: over })
    else report.more = true
  }
  const due = dueQueues(bounded, shards, mayGoOn, isWanted)
  await sideBySide(due, VISITS_AT_ONCE, endLocksOf, () => !isCut)
  return { left, patternsAreDue }
}

async function visit(
  engine: Engine,
  { queue, dueMs, row }: DueQueue,
  report: Report,
  deadlineMs: number,
): Promise<Left> {
  try {
    const record = engine.records.seen(queue, row)
    return record === undefined ? 'nothing' : await sweepQueue(engine, record, report, deadlineMs)
  } catch (error) {
    failed(engine, queue, error, report)
    // A record that this engine cannot read would be late for ever, and hide the lag of all others.
    if (!isFormatUnknown(error)) late(engine, dueMs, report)
    return 'nothing'
  }
}

/** What a visit leaves for later, because the time is up (locks) or it may take long. */
type Left = 'nothing' | 'locks' | LeftOver['left']

/** 2,000 expired locks at 40 a write, and room for lost races. */
const ATTEMPTS_MAX = 80
const HOLDS_FROM = 3
/** Writes of a visit that join due items, some hundred each: the timer stays due for the rest. */
const JOINS_MAX = 20

/**
 * Ends expired locks, folds done ones, announces items that nobody takes, and moves the queue's timer on. It leaves
 * work that needs rows or S3, except for items that have come due: these join after the locks.
 */
async function sweepQueue(
  engine: Engine,
  seen: QueueRecord,
  report: Report,
  deadlineMs: number,
): Promise<Left> {
  const course = {
    from: asStored(seen),
    attemptsMax: ATTEMPTS_MAX,
    holdsFrom: HOLDS_FROM,
    untilMs: deadlineMs,
  }
  let joins = 0
  return attempts<Left>(engine, seen.queue, course, ({ record, nowMs, attempt }) => {
    if (record === undefined) return answer('nothing')
    if (nowMs >= deadlineMs) return answer('locks')
    // We read the index eventually consistently: it may show a timer that has moved already.
    const isDue = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
    if (!isDue && (attempt === 1 || !hasEnded(record, nowMs))) {
      comesDueIn(report, record, nowMs)
      return answer('nothing')
    }
    // Locks come first, because consumers wait for them: a join may need S3.
    if (
      !hasEnded(record, nowMs) &&
      joins < JOINS_MAX &&
      (mayJoin(record, nowMs) || isUntidy(record.scheduled))
    ) {
      joins += 1
      return act(async () => {
        const { kind, ...left } = await seeToScheduled(engine, record, nowMs)
        if (kind !== 'joined') joins = JOINS_MAX
        return again(left)
      })
    }
    if (isQuiet(record, nowMs)) return answer('forgetting')
    const draft = sweptAt(engine, record, nowMs)
    const change = engine.records.change(record, draft, {
      nowMs,
      refreshCheckAt: true,
      // A process that took the last item may have died before it marked the queue as dry.
      setsDry: engine.events && attempt === 1,
    })
    return {
      kind: 'write',
      change,
      async landed(after) {
        count(report, record, draft, nowMs)
        comesDueIn(report, after, nowMs)
        // One write ends a limited number of locks; if some are left, another round follows.
        if (hasEnded(after, nowMs) || (joins === 0 && mayJoin(after, nowMs)))
          return again(asStored(after))
        // A busy queue has locks to end or fold at every visit; without this, its record would stay large for ever.
        if (joins === 0 && isUntidy(after.scheduled)) await sealLaterQuietly(engine, after)
        const isPurging = after.scheduled.purged.length > 0
        const hasWork = change.after.work || isPurging || hasOldNotes(after, nowMs)
        return done(hasWork ? 'housekeeping' : 'nothing')
      },
    }
  })
}

/** Joins due items; or moves entries that are not due out of the record, which they make larger. */
async function seeToScheduled(engine: Engine, record: QueueRecord, nowMs: number) {
  if (mayJoin(record, nowMs)) return join(engine, asStored(record), nowMs)
  await sealLaterQuietly(engine, record)
  return { kind: 'sealed' as const, ...asStored(await engine.records.read(record.queue)) }
}

function sweptAt(engine: Engine, record: QueueRecord, nowMs: number): QueueRecord {
  const returned = endExpired(record, nowMs)
  const draft = returned === record ? foldDone(record, nowMs) : returned
  const { remindAfterMs } = engine
  return remindAfterMs === undefined ? draft : remind(draft, nowMs, remindAfterMs)
}

const hasEnded = (record: QueueRecord, nowMs: number): boolean =>
  [...record.locks.values()].some((lock) => isDone(lock) || isExpired(lock, nowMs))

function count(report: Report, before: QueueRecord, after: QueueRecord, nowMs: number): void {
  for (const [lockId, lock] of before.locks) {
    if (!isExpired(lock, nowMs) || after.locks.has(lockId)) continue
    report.itemsReturned += itemsIn(lock.stretches)
    report.lagMs = Math.max(report.lagMs, nowMs - lock.expiresAtMs)
  }
}

/**
 * Runs the due schedules of one queue in one page of the index, one after the other: in parallel they would only
 * get in each other's way, because all of them write the queue's record. One that fails does not hold up the
 * others.
 */
async function sweepSchedules(
  engine: Engine,
  { queue, rows }: DueSchedules,
  report: Report,
  deadlineMs: number,
): Promise<void> {
  for (const row of rows) {
    try {
      const { pushed, more, nextAtMs } = await runDue(engine, row, deadlineMs)
      report.occurrencesPushed += pushed
      if (more) report.more = true
      if (nextAtMs !== undefined && isNear(nextAtMs, engine.clock.nowMs())) {
        comesDue(report, nextAtMs)
      }
    } catch (error) {
      failed(engine, queue, error, report)
      // This is no lag of locks, and would hide theirs. The sweep leaves a schedule that this engine cannot read.
      if (!isFormatUnknown(error)) report.more = true
    }
  }
}

/** We read the index eventually consistently: the row may be gone, or have moved on. */
async function runDue(
  engine: Engine,
  row: Row | undefined,
  deadlineMs: number,
): Promise<DuePushed> {
  const schedule = row && decodeSchedule(row)
  if (schedule === undefined || !isDue(schedule, engine.clock.nowMs())) {
    return { pushed: 0, more: false, nextAtMs: schedule && checkAtOf(schedule) }
  }
  return pushDue(engine, schedule, deadlineMs)
}

function comesDueIn(report: Report, { checkAtMs }: QueueRecord, nowMs: number): void {
  if (checkAtMs !== undefined && isNear(checkAtMs, nowMs)) comesDue(report, checkAtMs)
}

function comesDue(report: Report, atMs: number): void {
  report.nextDueMs = Math.min(report.nextDueMs ?? atMs, atMs)
}

function passOver(engine: Engine, due: Unreadable, report: Report): void {
  report.more = true
  if (due.kind === 'cut') return
  if (due.kind === 'shard-unread') {
    report.failed.push({ shard: due.shard, error: due.error })
    engine.onBackgroundError(due.error, { queue: '', step: `sweep-shard-${due.shard}` })
    return
  }
  late(engine, due.dueMs, report)
  failed(engine, due.queue, due.error, report)
}

export function failed(engine: Engine, queue: string, error: unknown, report: Report): void {
  report.failed.push({ queue, error })
  engine.onBackgroundError(error, { queue, step: 'sweep' })
}

/** For a queue that we did not serve: its timer stays due, and a consumer may have been waiting since then. */
function late(engine: Engine, dueMs: number, report: Report): void {
  report.more = true
  report.lagMs = Math.max(report.lagMs, engine.clock.nowMs() - dueMs)
}
