import { isFormatUnknown, QueueError } from '../../../foundation/errors.ts'
import { allShards } from '../../core/keys.ts'
import { SHARDS } from '../../core/limits.ts'
import type { SweepReport, SweepRequest } from '../../verbs.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'
import { applyPatterns } from './apply-patterns.ts'
import {
  type DuePatterns,
  type DueQueue,
  type DueSchedules,
  dueQueues,
  type Unreadable,
} from './due-queues.ts'
import { forget } from './forget.ts'
import { housekeepAll } from './housekeep.ts'
import { sideBySide } from './side-by-side.ts'
import { type Left, sweepQueue } from './sweep-queue.ts'
import { failed, late, passOver, type Report } from './sweep-report.ts'

/**
 * Mostly a visit is one write, and waits for the store: at 5 ms an answer 32 of them keep a core busy,
 * and end the locks of 20,000 queues in some ten seconds.
 */
const VISITS_AT_ONCE = 32
/** Each may hold a segment in memory, and keep four requests under way. */
const TIDIED_AT_ONCE = 4
/** A call whose caller sets no deadline takes no more queues after this long. */
const RUN_MS = 60_000
/** Left for later by one run; the timers of the others stay due, so a later run meets them again. */
const LEFT_MAX = 10_000

/** Failures of one walk that a report names; each is a line in the log. */
const WALK_FAILURES_MAX = 100

type LeftOver = { readonly queue: string; readonly left: 'housekeeping' | 'forgetting' }

/**
 * Visits the queues whose `checkAt` has come. First the locks of all of them: somebody waits for those.
 * Then what may take long, where S3 hangs for instance: housekeeping that was missed, and forgetting
 * what is empty. Each visit moves its queue's timer on, so the next run resumes by itself; a queue that
 * fails is reported, keeps its timer, and holds up no other.
 */
export async function returnExpiredLocks(
  engine: Engine,
  request: SweepRequest = {},
): Promise<SweepReport> {
  const deadlineMs = request.deadlineMs ?? engine.clock.nowMs() + RUN_MS
  const { queuesMax = Number.POSITIVE_INFINITY, shards = allShards, tidyUntilMs } = request
  checkShards(shards)
  const report: Report = {
    queues: 0,
    itemsReturned: 0,
    itemsDeadLettered: 0,
    occurrencesPushed: 0,
    lagMs: 0,
    failed: [],
    more: false,
  }
  const { left, patternsAreDue } = await endLocks(engine, report, { deadlineMs, queuesMax, shards })
  throwIfBlind(report, shards.length)
  const untilMs = tidyUntilMs ?? request.deadlineMs
  await Promise.all([
    tidy(engine, left, report, untilMs),
    patternsAreDue && walk(engine, report, untilMs, deadlineMs),
  ])
  // What goes on after the answer does not change it.
  return { ...report, failed: [...report.failed] }
}

/** Where not one shard could be read there is no report to give. */
function throwIfBlind({ queues, failed }: Report, shards: number): void {
  const unread = failed.filter(({ shard }) => shard !== undefined)
  const first = unread[0]
  if (queues === 0 && unread.length === shards && first !== undefined) throw first.error
}

type Bounds = {
  readonly deadlineMs: number
  readonly queuesMax: number
  readonly shards: readonly number[]
}

/** No visit waits for another, and none sends a request once the time is up: there is little left then. */
async function endLocks(
  engine: Engine,
  report: Report,
  { deadlineMs, queuesMax, shards }: Bounds,
): Promise<{ left: LeftOver[]; patternsAreDue: boolean }> {
  const left: LeftOver[] = []
  const bounded = { ...engine, dynamo: engine.dynamo.until(deadlineMs) }
  const mayGoOn = (): boolean => report.queues < queuesMax && engine.clock.nowMs() < deadlineMs
  let isCut = false
  let patternsAreDue = false
  const endLocksOf = async (
    due: DueQueue | DueSchedules | DuePatterns | Unreadable,
  ): Promise<void> => {
    if (due.kind === 'patterns') {
      patternsAreDue = true
      return
    }
    if (due.kind === 'schedules') {
      // Loaded by a sweeper that meets schedules.
      const { sweepSchedules } = await import('./sweep-schedules.ts')
      return sweepSchedules(bounded, due, report, deadlineMs)
    }
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
  const due = dueQueues(bounded, shards, mayGoOn)
  await sideBySide(due, VISITS_AT_ONCE, endLocksOf, () => !isCut)
  return { left, patternsAreDue }
}

/** Locks must end on time: what the walk has under way when its time is up is left behind. */
async function walk(
  engine: Engine,
  report: Report,
  untilMs: number | undefined,
  deadlineMs: number,
): Promise<void> {
  let isLeft = true
  let failures = 0
  const applied = applyPatterns(engine, untilMs ?? deadlineMs, {
    onFailed(failure) {
      // Where thousands fail the first tell why.
      if (failures++ >= WALK_FAILURES_MAX) return
      report.failed.push(failure)
      const { queue = '', error } = failure
      engine.onBackgroundError(error, { queue, step: 'apply-patterns' })
    },
    onMore() {
      report.more = true
    },
  }).then(() => {
    isLeft = false
  })
  await untilTimeIsUp(engine, applied, untilMs)
  if (isLeft) report.more = true
}

/** Waits for the work, but no longer than to the given time, if any. */
async function untilTimeIsUp(
  { clock }: Engine,
  work: Promise<unknown>,
  untilMs: number | undefined,
): Promise<void> {
  if (untilMs === undefined) {
    await work
    return
  }
  const ended = new AbortController()
  await Promise.race([work, clock.sleep(Math.max(0, untilMs - clock.nowMs()), ended.signal)])
  ended.abort()
}

async function visit(
  engine: Engine,
  { queue, dueMs, row }: DueQueue,
  report: Report,
  deadlineMs: number,
): Promise<Left> {
  try {
    const record = seen(engine, queue, row)
    return record === undefined ? 'nothing' : await sweepQueue(engine, record, report, deadlineMs)
  } catch (error) {
    failed(engine, queue, error, report)
    // One that this engine cannot read would be late for ever, and hide the lag of all others.
    if (!isFormatUnknown(error)) late(engine, dueMs, report)
    return 'nothing'
  }
}

/**
 * What is not done in time is left behind rather than waited for, if there is such a time. It goes on
 * while this process lives, and may stop anywhere; until it ends it keeps its place, so that a store
 * that hangs is not asked by more and more.
 */
async function tidy(
  engine: Engine,
  left: readonly LeftOver[],
  report: Report,
  untilMs: number | undefined,
): Promise<void> {
  const { clock, tidying } = engine
  const inTime = (): boolean => untilMs === undefined || clock.nowMs() < untilMs
  const mayBegin = (): boolean => inTime() && tidying.size < TIDIED_AT_ONCE
  if (left.length === 0) return
  let done = 0
  const all = sideBySide(
    left,
    TIDIED_AT_ONCE,
    async ({ queue, left: over }) => {
      if (tidying.has(queue)) return
      tidying.add(queue)
      try {
        const deadLettered = await tidyQueue(engine, queue, over)
        report.itemsDeadLettered += deadLettered
      } catch (error) {
        failed(engine, queue, error, report)
      } finally {
        tidying.delete(queue)
        done += 1
      }
    },
    mayBegin,
  )
  await untilTimeIsUp(engine, all, untilMs)
  if (done < left.length) report.more = true
}

async function tidyQueue(engine: Engine, queue: string, left: LeftOver['left']): Promise<number> {
  if (left === 'forgetting') {
    await forget(engine, queue)
    return 0
  }
  const record = await readRecord(engine, queue)
  const { deadLettered } = await housekeepAll(engine, queue, record)
  return deadLettered
}

function checkShards(shards: readonly number[]): void {
  const isOne = (shard: number): boolean => Number.isInteger(shard) && 0 <= shard && shard < SHARDS
  if (shards.length > 0 && shards.every(isOne)) return
  throw new QueueError(
    'INVALID_PARAMETER',
    `Cannot sweep the shards "${shards.join()}" because they must be integers from 0 to ${SHARDS - 1}`,
    { field: 'shards' },
  )
}
