import type { Cron } from 'croner'
import { CRON_CHARACTERS_MAX } from './limits.ts'
import { invalid, type Timing } from './schedule.ts'
import type { Times } from './schedule-times.ts'

type CronTiming = Extract<Timing, { cron: string }>

/**
 * The times of a cron expression; it throws if the calendar cannot read the expression. The caller hands in the
 * calendar, so that a process without cron schedules never loads it. It takes all times from its caller, and none from
 * a clock.
 */
export function cronTimes(Calendar: typeof Cron, timing: CronTiming): Times {
  checkCron(timing.cron)
  checkTimeZone(timing.timeZone)
  const cron = readCron(Calendar, timing)
  return {
    from: (ms) => cron.nextRun(new Date(ms - 1))?.getTime(),
    // The calendar looks back from whole seconds only.
    before: (ms, count) =>
      cron.previousRuns(count, new Date(Math.ceil(ms / 1000) * 1000)).map((date) => date.getTime()),
  }
}

function readCron(Calendar: typeof Cron, { cron, timeZone }: CronTiming): Cron {
  try {
    return new Calendar(cron, { timezone: timeZone, mode: '5-part', paused: true })
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Cron\w*: /, '') : String(error)
    // The calendar counts some fields from zero, so its message would name a value that the caller did not write.
    throw invalid(
      'cron',
      `cron "${cron}" cannot be read: ${reason.replace(/(?<=^Invalid value for \w+): .*/, '')}`,
    )
  }
}

/** The calendar would read a `#` without a week's number as every week. */
const fieldForm = /^(?:[0-9A-Za-z*,/-]|#(?=[1-5L]))+$/

function checkCron(cron: string): void {
  const fields = cron.split(' ')
  if (fields.length !== 5 || cron.length > CRON_CHARACTERS_MAX) {
    throw invalid(
      'cron',
      `cron must be five fields (minute, hour, day of the month, month, day of the week) of ${CRON_CHARACTERS_MAX} ` +
        'characters at most, such as "0 9 * * 1"',
    )
  }
  const wrong = fields.find((field) => !fieldForm.test(field))
  if (wrong !== undefined) {
    throw invalid('cron', `cron has "${wrong}", and takes numbers, names and * , - / # L W`)
  }
}

function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw invalid(
      'time_zone',
      `time_zone "${timeZone}" is not known; it takes IANA names, such as Europe/Berlin`,
    )
  }
}
