import { cronTimes } from '../../core/cron.ts'
import type { Schedule } from '../../core/schedule.ts'
import { intervalTimes, type Times, withinBounds } from '../../core/schedule-times.ts'

/**
 * Loads the calendar when a cron schedule first needs it: a process without one never does. It takes all times from
 * its caller, and none from a clock.
 */
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
