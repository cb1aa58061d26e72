// The sweeper's function: it returns expired locks beat by beat, puts what a deployment brings, starts missing
// timers, and announces waiting queues when a person asks. Locks come first: everything else has a bound of its own.
//
// Two sweepers may run: an old one of the previous deployment, perhaps frozen, and ours. Either may put its patterns
// and schedules last. So ours looks again after the time that a run can take, and an old one does not.

import { createHash } from 'node:crypto'
import type { Clock } from '../../aws/dynamo.ts'
import { inputOf, type ScheduleInCode } from '../../engine/core/schedule.ts'
import type {
  AnnounceReport,
  AnnounceRequest,
  DeployedResult,
  QueuePatternInput,
  Queues,
  SweepReport,
} from '../../engine/queues.ts'
import { systemClock } from '../../shared/system.ts'
import { describeError, type Environment, type Fields, type Log, type Run } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'
import type { Waker } from './call-wake.ts'

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

/** Time for an answer and a line in the log. */
const LEAVE_OTHERS_MS = 5_000
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
    const deadlineMs = clock.nowMs() + Math.min(SCHEDULES_MS, remainingMs() - LEAVE_OTHERS_MS)
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
        deadlineMs: clock.nowMs() + run.remainingMs() - LEAVE_OTHERS_MS,
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

/** The schedule starts a run each minute; the run may sweep more often. */
const RUN_SECONDS = 60
/**
 * When the time is up, a visit under way sends no more requests: it only waits for the answer to its last
 * one, 3 s at most, and writes a line to the log.
 */
const LEAVE_SWEEP_MS = 10_000

type SweepSummary = {
  readonly sweeps: number
  readonly queues: number
  readonly items_returned: number
  readonly items_dead_lettered: number
  /** Items that schedules pushed. */
  readonly occurrences_pushed: number
  readonly failed: number
  /** How long the lock, or the queue that was not served, that waited longest had been due. */
  readonly lag_seconds: number
  /** Something is left for the next run. */
  readonly more: boolean
}

type Beat = {
  readonly everySeconds: number
  /** Several runs may sweep side by side. Default: all shards. */
  readonly shards?: readonly number[] | undefined
  /** A run calls this at most once, if a prompt timer ends soon: after that Wake stays awake by itself. */
  readonly wake?: Waker | undefined
  /** Runs once, after the first sweep that succeeds. A deployment of schedules waits for it: locks must end on time. */
  readonly afterFirst?: (() => Promise<void>) | undefined
}

/**
 * Sweeps once, or every `everySeconds` until the schedule starts the next run. If a queue fails, it is reported
 * and keeps its timer, so a later sweep meets it again. The run itself fails only if no sweep could read the
 * index: then its errors raise an alarm, and the next run tries again.
 */
export async function sweepRun(
  queues: Pick<Queues, 'returnExpiredLocks'>,
  { everySeconds, shards, wake, afterFirst }: Beat,
  { tally, log, remainingMs }: Run,
  clock: Clock = systemClock,
): Promise<SweepSummary> {
  const startedMs = clock.nowMs()
  const endMs = startedMs + remainingMs() - LEAVE_SWEEP_MS
  const total = {
    sweeps: 0,
    queues: 0,
    items_returned: 0,
    items_dead_lettered: 0,
    occurrences_pushed: 0,
    failed: 0,
    lag_seconds: 0,
  }
  // The beat does not depend on how long a sweep takes, and we do not make up for one that was missed.
  const beatMs = everySeconds * 1000
  const nextBeatMs = (): number =>
    startedMs + (Math.floor((clock.nowMs() - startedMs) / beatMs) + 1) * beatMs
  let more = false
  let lastError: unknown
  let waking: Promise<void> | undefined
  let after: Promise<void> | undefined
  for (;;) {
    try {
      const report = await queues.returnExpiredLocks({
        deadlineMs: endMs,
        // Locks must end on time; the rest may wait.
        tidyUntilMs: Math.min(endMs, nextBeatMs()),
        ...(shards !== undefined && { shards }),
        ...(wake && {
          onNext(untilMs: number) {
            waking ??= wake({ untilMs }, log)
          },
        }),
      })
      add(total, report)
      more = report.more
    } catch (error) {
      lastError = error
      tally.count('SweepFailures', 1)
      log.write('error', 'sweep failed', { error: describeError(error) })
    }
    if (total.sweeps > 0) after ??= afterFirst?.()
    await after
    const nextMs = nextBeatMs()
    const isLast = nextMs >= startedMs + RUN_SECONDS * 1000 || nextMs >= endMs
    if (isLast) break
    await clock.sleep(nextMs - clock.nowMs())
  }
  await waking
  if (total.sweeps === 0) throw lastError
  tally.count('ItemsPushed', total.occurrences_pushed)
  tally.count('ItemsReturned', total.items_returned)
  tally.count('ItemsDeadLettered', total.items_dead_lettered)
  tally.count('SweepFailures', total.failed)
  if (total.items_returned > 0 || total.lag_seconds > 0) {
    tally.metrics.set('LockReturnLag', total.lag_seconds)
  }
  return { ...total, more }
}

function add(
  total: { -readonly [K in keyof Omit<SweepSummary, 'more'>]: number },
  report: SweepReport,
) {
  total.sweeps += 1
  total.queues += report.queues
  total.items_returned += report.itemsReturned
  total.items_dead_lettered += report.itemsDeadLettered
  total.occurrences_pushed += report.occurrencesPushed
  total.failed += report.failed.length
  total.lag_seconds = Math.max(total.lag_seconds, report.lagMs / 1000)
}

/** What a deployment brings beside its functions. */
type Deployment = {
  readonly queueConfig: QueueConfig | undefined
  readonly schedules: SchedulesInCode
}

export const deploymentIn = (environment: Environment): Deployment => ({
  queueConfig: queueConfigIn(environment),
  schedules: schedulesIn(environment),
})

/** Settings of prefixes that a deployment brings; absent if it leaves them to `PUT /queue-config`. */
export type QueueConfig = {
  readonly patterns: readonly QueuePatternInput[]
  readonly hash: string
}

function queueConfigIn(environment: Environment): QueueConfig | undefined {
  const text = environment[variables.queueConfig]
  if (!text) return undefined
  const list = JSON.parse(text) as ({ readonly prefix: string } & QueuePatternInput['settings'])[]
  return {
    patterns: list.map(({ prefix, ...settings }) => ({ prefix, settings })),
    hash: hashOf(text),
  }
}

/** Schedules that a deployment brings. Even if it brings none, there may be some of an earlier one to delete. */
type SchedulesInCode = { readonly text: string; readonly hash: string }

function schedulesIn(environment: Environment): SchedulesInCode {
  const text = environment[variables.schedules] ?? '[]'
  return { text, hash: hashOf(text) }
}

/** By it the table knows whether a deployment brings something new. */
const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 16)

/** Returns whether it is done: the row has the patterns of this deployment, or of somebody who has put others since. */
export async function deployPatterns(
  queues: Pick<Queues, 'deployPatterns'>,
  { patterns, hash }: QueueConfig,
  log: Log,
): Promise<boolean> {
  try {
    const { revision, replaced } = await queues.deployPatterns(patterns, hash)
    if (replaced === undefined) return true
    // If this replaced patterns that somebody put by hand, the log has them.
    const level = replaced.patterns.length > 0 ? 'warn' : 'info'
    log.write(level, 'queue patterns replaced by the deployment', {
      revision,
      replaced: replaced.patterns,
    })
    return true
  } catch (error) {
    // The next run tries again.
    log.write('error', 'queue patterns not deployed', { error: describeError(error) })
    return false
  }
}

type Deployed = {
  readonly failed: number
  /** `new`: it is applied now. `left`: the next run goes on. */
  readonly state: 'as-it-was' | 'new' | 'left'
}

/** Puts and deletes what this deployment changes, and says so in the log. */
async function deploySchedules(
  queues: Pick<Queues, 'deploySchedules'>,
  { text, hash }: SchedulesInCode,
  log: Log,
  deadlineMs: number,
): Promise<Deployed> {
  try {
    const list = read(text)
    const request = { deadlineMs }
    const { isNew, more, results } = await queues.deploySchedules(list.map(inputOf), hash, request)
    if (isNew) log.write(levelOf(results), 'schedules deployed', fieldsOf(results))
    const failed = results.filter(({ result }) => result === 'failed').length
    return { failed, state: more ? 'left' : isNew ? 'new' : 'as-it-was' }
  } catch (error) {
    log.write('error', 'schedules not deployed', { error: describeError(error) })
    return { failed: 1, state: 'left' }
  }
}

function read(text: string): readonly ScheduleInCode[] {
  try {
    return JSON.parse(text)
  } catch (cause) {
    // A name that only the deployment knew may have had a quote in it.
    throw new Error(`Cannot read ${variables.schedules} as JSON`, { cause })
  }
}

/** If this replaces or keeps a schedule that somebody put by hand, the log says so. */
function levelOf(results: readonly DeployedResult[]): 'error' | 'warn' | 'info' {
  const has = (...some: readonly DeployedResult['result'][]): boolean =>
    results.some(({ result }) => some.includes(result))
  if (has('failed')) return 'error'
  return has('replaced', 'kept') ? 'warn' : 'info'
}

/** The schedules, by what happened to them. Without their items, whose contents do not belong in a log. */
function fieldsOf(results: readonly DeployedResult[]): Fields {
  const fields: Record<string, unknown[]> = {}
  for (const it of results) {
    const { queue, name, result } = it
    const place = { queue, name }
    const told =
      it.result === 'failed'
        ? { ...place, error: describeError(it.error) }
        : it.result === 'replaced'
          ? { ...place, timing: it.before.timing }
          : place
    fields[result] = [...(fields[result] ?? []), told]
  }
  return fields
}
