import { cronTimes } from '../../core/cron.ts'
import type { Schedule } from '../../core/schedule.ts'
import { intervalTimes, type Times, withinBounds } from '../../core/schedule-times.ts'

/** The calendar is loaded when somebody first needs it: who has no cron schedule never loads it. */
export async function timesOf({
  timing,
  startsAtMs,
  endsAtMs,
}: Pick<Schedule, 'timing' | 'startsAtMs' | 'endsAtMs'>): Promise<Times> {
  const times =
    'cron' in timing
      ? cronTimes((await import('croner')).Cron, timing)
      : intervalTimes(timing.baseMs, timing.everySeconds)
  return withinBounds(times, { startsAtMs, endsAtMs })
}
