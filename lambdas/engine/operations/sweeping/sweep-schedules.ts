import type { Row } from '../../../foundation/dynamo.ts'
import { isFormatUnknown } from '../../../foundation/errors.ts'
import { isDue } from '../../core/due-occurrences.ts'
import { checkAtOf } from '../../core/schedule.ts'
import { decodeSchedule } from '../../core/stored-schedule.ts'
import { isNear } from '../../core/timers.ts'
import type { Engine } from '../attempts/engine.ts'
import { type DuePushed, pushDue } from '../scheduling/push-due.ts'
import type { DueSchedules } from './due-queues.ts'
import { comesDue } from './sweep-queue.ts'
import { failed, type Report } from './sweep-report.ts'

/**
 * Runs the due schedules of one queue in one page of the index, one after the other: in parallel they would only
 * get in each other's way, because all of them write the queue's record. One that fails does not hold up the
 * others.
 */
export async function sweepSchedules(
  engine: Engine,
  { queue, schedules }: DueSchedules,
  report: Report,
  deadlineMs: number,
): Promise<void> {
  for (const { row } of schedules) {
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
