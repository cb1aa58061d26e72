import type { Row } from '../../../foundation/dynamo.ts'
import { isFormatUnknown } from '../../../foundation/errors.ts'
import { isDue } from '../../core/due-occurrences.ts'
import { decodeSchedule } from '../../core/stored-schedule.ts'
import type { Engine } from '../attempts/engine.ts'
import { type DuePushed, pushDue } from '../scheduling/push-due.ts'
import type { DueSchedules } from './due-queues.ts'
import { failed, late, type Report } from './sweep-report.ts'

/**
 * Runs what is due of one queue's schedules, one after the other: side by side they would only be in each other's
 * way, because all of them write the queue's record. One that fails holds up no other.
 */
export async function sweepSchedules(
  engine: Engine,
  { queue, schedules }: DueSchedules,
  report: Report,
  deadlineMs: number,
): Promise<void> {
  for (const { row, dueMs } of schedules) {
    try {
      const { pushed, more } = await runDue(engine, row, deadlineMs)
      report.occurrencesPushed += pushed
      if (more) late(engine, dueMs, report)
    } catch (error) {
      failed(engine, queue, error, report)
      // One that this engine cannot read would be late for ever, and hide the lag of all others.
      if (!isFormatUnknown(error)) late(engine, dueMs, report)
    }
  }
}

/** The index is read eventually consistently: the row may be gone, or have moved on. */
async function runDue(
  engine: Engine,
  row: Row | undefined,
  deadlineMs: number,
): Promise<DuePushed> {
  const schedule = row && decodeSchedule(row)
  if (schedule === undefined || !isDue(schedule, engine.clock.nowMs())) {
    return { pushed: 0, more: false }
  }
  return pushDue(engine, schedule, deadlineMs)
}
