import type { Queues, SweepReport } from '../../engine/queues.ts'
import type { Clock } from '../../foundation/dynamo.ts'
import { systemClock } from '../../foundation/system.ts'
import { describeError } from '../../runtime/log.ts'
import type { Run } from '../background-handler.ts'
import type { Waker } from '../wake/waker.ts'

/** The schedule starts a run each minute; the run may sweep more often. */
const RUN_SECONDS = 60
/**
 * When the time is up, a visit under way sends no more requests: it only waits for the answer to its last
 * one, 3 s at most, and writes a line to the log.
 */
const LEAVE_MS = 10_000

export type SweepSummary = {
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
  const endMs = startedMs + remainingMs() - LEAVE_MS
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
