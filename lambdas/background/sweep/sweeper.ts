import type { AnnounceReport, AnnounceRequest, Queues } from '../../engine/queues.ts'
import type { Clock } from '../../foundation/dynamo.ts'
import { systemClock } from '../../foundation/system.ts'
import type { Environment } from '../../runtime/environment.ts'
import { describeError, type Fields } from '../../runtime/log.ts'
import type { Run } from '../background-handler.ts'
import type { Waker } from '../wake/waker.ts'
import { deployPatterns, type QueueConfig, queueConfigIn } from './deployed-patterns.ts'
import { deploySchedules, type SchedulesInCode, schedulesIn } from './deployed-schedules.ts'
import { type SweepSummary, sweepRun } from './sweep-run.ts'

/** The event of the schedule, or of a person who calls the function by hand. */
type SweeperEvent = {
  /** If several functions sweep side by side: this one's part of the 16 shards. */
  readonly shards?: readonly number[]
  /** Announce all queues that have items and nobody at work, instead of sweeping. */
  readonly announce?: Pick<AnnounceRequest, 'prefix' | 'cursor' | 'consumersAreGone'>
}

type SweeperReport = {
  readonly answer: SweepSummary | AnnounceReport
  readonly fields: Fields
  readonly failed: boolean
}

type Engine = Pick<
  Queues,
  'returnExpiredLocks' | 'announceWaiting' | 'startTimers' | 'deployPatterns' | 'deploySchedules'
>

/** What a deployment brings beside its functions. */
export type Deployment = {
  readonly queueConfig: QueueConfig | undefined
  readonly schedules: SchedulesInCode
}

export const deploymentIn = (environment: Environment): Deployment => ({
  queueConfig: queueConfigIn(environment),
  schedules: schedulesIn(environment),
})

/** Time for an answer and a line in the log. */
const LEAVE_MS = 5_000
/** A run's time for starting missing timers: a walk through some 50,000 queues. After that, locks come first. */
const TIMERS_MS = 5_000
/** The table says whether a walk is due, which is once a day; asking every hour costs 24 reads of one row. */
const ASK_EVERY_MS = 3_600_000
/** A run's time for a deployment's schedules: an environment has room for some fifty, which take a second or two. */
const SCHEDULES_MS = 5_000
/** By then, no sweeper with the old environment is running any more: a run takes a minute. */
const LOOK_AGAIN_MS = 300_000

/** The sweeper's function: one for the life of its process. */
export function createSweeper(
  queues: Engine,
  everySeconds: number,
  { queueConfig, schedules }: Deployment,
  clock: Clock = systemClock,
  wake?: Waker,
): (event: SweeperEvent | undefined, run: Run) => Promise<SweeperReport> {
  let askAtMs = 0
  let patternsAtMs = queueConfig === undefined ? Number.POSITIVE_INFINITY : 0
  let hasPatterns = false
  let schedulesAtMs = 0
  let hasLooked = false

  /**
   * Runs when this process starts, and once more later: a frozen sweeper of the previous deployment may have put its own
   * patterns after ours. It does not run more often, so that an old process that still runs cannot keep bringing its own
   * back.
   */
  async function putPatterns(config: QueueConfig, { log }: Run): Promise<void> {
    if (!(await deployPatterns(queues, config, log))) return
    patternsAtMs = hasPatterns ? Number.POSITIVE_INFINITY : clock.nowMs() + LOOK_AGAIN_MS
    hasPatterns = true
  }

  /**
   * Runs when this process starts, and again after its first look and after each look that has changed something: a
   * sweeper of the previous deployment may have come last, and the process that deployed first may be gone. Returns
   * how many failed.
   */
  async function putSchedules({ log, remainingMs }: Run): Promise<number> {
    const deadlineMs = clock.nowMs() + Math.min(SCHEDULES_MS, remainingMs() - LEAVE_MS)
    const { failed, state } = await deploySchedules(queues, schedules, log, deadlineMs)
    if (state === 'left') return failed
    const looksAgain = state === 'new' || !hasLooked
    schedulesAtMs = looksAgain ? clock.nowMs() + LOOK_AGAIN_MS : Number.POSITIVE_INFINITY
    hasLooked = true
    return failed
  }

  async function startTimers({ log }: Run): Promise<void> {
    try {
      const report = await queues.startTimers({ deadlineMs: clock.nowMs() + TIMERS_MS })
      if (report.finished) askAtMs = clock.nowMs() + ASK_EVERY_MS
      const level = report.failed > 0 ? 'warn' : 'info'
      if (report.queues > 0) log.write(level, 'timers started', { ...report })
    } catch (error) {
      // The next run tries again.
      log.write('error', 'timers not started', { error: describeError(error) })
    }
  }

  return async (event, run) => {
    const { shards, announce } = event ?? {}
    if (announce !== undefined) {
      const { prefix, cursor, consumersAreGone } = announce
      const answer = await queues.announceWaiting({
        ...(prefix !== undefined && { prefix }),
        ...(cursor !== undefined && { cursor }),
        ...(consumersAreGone !== undefined && { consumersAreGone }),
        deadlineMs: clock.nowMs() + run.remainingMs() - LEAVE_MS,
      })
      return { answer, fields: answer, failed: answer.failed > 0 }
    }
    // One of several is enough.
    const isFirst = shards === undefined || shards.includes(0)
    if (isFirst && queueConfig !== undefined && clock.nowMs() >= patternsAtMs) {
      await putPatterns(queueConfig, run)
    }
    if (isFirst && clock.nowMs() >= askAtMs) await startTimers(run)
    let failed = 0
    async function afterFirst(): Promise<void> {
      if (isFirst && clock.nowMs() >= schedulesAtMs) failed = await putSchedules(run)
    }
    const swept = await sweepRun(queues, { everySeconds, shards, wake, afterFirst }, run, clock)
    run.tally.count('SweepFailures', failed)
    const summary = { ...swept, failed: swept.failed + failed }
    return { answer: summary, fields: summary, failed: summary.failed > 0 }
  }
}
