// A recurring schedule: what a caller may put, the times at which it is due, and which occurrences the sweeper pushes
// now. It is due by a calendar or at a fixed interval, until it ends; while it is paused, or its occurrence waits for
// room, its times go by, and its own rule says which of the missed ones still count. All times come from the caller,
// none from a clock. Each occurrence is later than the one before, whatever the clock says, so two sweepers that push
// for one schedule, or one whose clock has gone back, push no occurrence twice.

import type { Cron } from 'croner'
import { invalid, type QueueError } from '../../shared/errors.ts'
import { MARCH, nextRunOf } from '../../shared/next-run.ts'
import { checkMs, checkPush } from './check-requests.ts'
import { CRON_CHARACTERS_MAX, EVERY_SECONDS_MAX, EVERY_SECONDS_MIN } from './limits.ts'

export type ScheduleName = Pick<Schedule, 'queue' | 'name'>

/** A schedule that a deployment brings. */
export type DeployedSchedule = ScheduleName & ScheduleInput

export type DeployedResult = ScheduleName &
  (
    | { readonly result: 'as_it_was' | 'put' | 'deleted' | 'gone' }
    /** A caller had put it differently from the deployment. */
    | { readonly result: 'replaced'; readonly before: Schedule }
    /** The deployment no longer has it, but a caller has put it since, so it stays. */
    | { readonly result: 'kept' }
    | { readonly result: 'failed'; readonly error: unknown }
  )

/**
 * An occurrence this late counts as missed. The sweeper comes once a minute and works for part of it; one failed
 * run must not cost an occurrence.
 */
export const MISSED_AFTER_MS = 3 * 60_000

/** Missed occurrences that `missed: all` pushes, the newest: as many as one push has, in ten transactions. */
export const MISSED_ALL_MAX = 1_000

/** The last second of the year 9999: beyond it, calendars and date formats disagree. */
const SCHEDULED_UNTIL_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** What happens to occurrences that were missed, because the stack was down or the schedule paused. */
export type Missed = 'skip' | 'one' | 'all'

/** When a schedule is due: by the calendar of a time zone, or at a fixed interval from `baseMs` on. */
export type Timing =
  | { readonly cron: string; readonly timeZone: string }
  | { readonly everySeconds: number; readonly baseMs: number }

/** What a caller put. */
type Definition = {
  readonly timing: Timing
  readonly priority: number
  readonly startsAtMs?: number | undefined
  /** The last moment at which it may be due. */
  readonly endsAtMs?: number | undefined
  readonly missed: Missed
}

/** A schedule's row, decoded. Immutable: a decision makes the next one. */
export type Schedule = Definition & {
  readonly queue: string
  readonly name: string
  /** Random; each change by a caller draws a new one. */
  readonly tag: string
  /** Each write adds one. */
  readonly version: number
  /** Identifies its item, which has a separate row. */
  readonly itemMark: string
  readonly paused: boolean
  /** A deployment has put it, and no caller has changed it since. */
  readonly deployed?: true | undefined
  /** The next occurrence to push; undefined when the schedule has ended. */
  readonly nextMs?: number | undefined
  /** When the last pushed occurrence was due. */
  readonly lastMs?: number | undefined
  /** The queue had no room, or refused it: the occurrence waits, and this is when the sweeper looks again. */
  readonly retryAtMs?: number | undefined
  /** Why the queue refused the waiting occurrence; absent if it only waits for room. */
  readonly refused?: string | undefined
}

/** The content of the item's row. */
export type ScheduleItem = { readonly mark: string; readonly text: string }

export type ScheduleInput = {
  readonly cron?: string | undefined
  readonly timeZone?: string | undefined
  readonly everySeconds?: number | undefined
  /** The item as JSON text, pushed byte for byte. */
  readonly text: string
  readonly priority?: number | undefined
  readonly startsAtMs?: number | undefined
  readonly endsAtMs?: number | undefined
  readonly missed?: Missed | undefined
}

/** A schedule as a deployment brings it, with its item as a value. */
export type ScheduleInCode = Omit<ScheduleInput, 'text'> & {
  readonly queue: string
  readonly name: string
  readonly item: unknown
}

export const inputOf = ({ item, ...rest }: ScheduleInCode) => ({
  ...rest,
  text: JSON.stringify(item),
})

const DEFAULT_ZONE = 'UTC'
const nameForm = /^[A-Za-z0-9._-]{1,100}$/

export function checkScheduleName(name: unknown): void {
  if (typeof name === 'string' && nameForm.test(name) && name !== '.' && name !== '..') return
  throw invalid(
    'name',
    'The name of a schedule must be 1 to 100 of the characters A-Z a-z 0-9 . _ - and not . or ..',
  )
}

/** Refuses an invalid put, naming the field. The expression itself is checked when its times are first needed. */
export function checkScheduleInput(input: ScheduleInput): void {
  const { cron, timeZone, everySeconds, startsAtMs, endsAtMs, missed = 'one' } = input
  checkPush([{ text: input.text, priority: input.priority }])
  if ((cron === undefined) === (everySeconds === undefined)) {
    throw invalid(cron === undefined ? 'cron' : 'every_seconds', 'say either cron or every_seconds')
  }
  if (everySeconds !== undefined) {
    if (timeZone !== undefined) throw invalid('time_zone', 'time_zone goes with cron alone')
    const isInBounds = EVERY_SECONDS_MIN <= everySeconds && everySeconds <= EVERY_SECONDS_MAX
    if (!Number.isInteger(everySeconds) || !isInBounds) {
      const bounds = `${EVERY_SECONDS_MIN} to ${EVERY_SECONDS_MAX}`
      throw invalid('every_seconds', `every_seconds must be an integer from ${bounds}`)
    }
  }
  if (!['skip', 'one', 'all'].includes(missed)) {
    throw invalid('missed', 'missed must be skip, one or all')
  }
  for (const [field, ms] of [
    ['starts_at', startsAtMs],
    ['ends_at', endsAtMs],
  ] as const) {
    if (ms === undefined) continue
    checkMs(ms, field)
    if (Number.isInteger(ms / 1000) && 0 <= ms && ms <= SCHEDULED_UNTIL_MS) continue
    const most = SCHEDULED_UNTIL_MS / 1000
    throw invalid(field, `${field} must be whole seconds since 1970, up to ${most} (the year 9999)`)
  }
  if (startsAtMs !== undefined && endsAtMs !== undefined && endsAtMs < startsAtMs) {
    throw invalid('ends_at', 'ends_at must not be before starts_at')
  }
}

export function neverDue({ cron, endsAtMs }: ScheduleInput): QueueError {
  return endsAtMs === undefined
    ? invalid('cron', `cron "${cron}" names no time that ever comes`)
    : invalid('ends_at', 'ends_at must not be before the first time at which the schedule is due')
}

/**
 * The schedule that a caller put, as it applies from now on. An interval counts from `starts_at`, or from when it
 * was first put with that length; another put does not restart it.
 */
export function definitionOf(
  input: ScheduleInput,
  before: Schedule | undefined,
  nowMs: number,
): Definition {
  const { cron, timeZone = DEFAULT_ZONE, everySeconds, startsAtMs, endsAtMs } = input
  const { priority = 0, missed = 'one' } = input
  return {
    timing:
      everySeconds === undefined
        ? { cron: (cron ?? '').trim().split(/\s+/).join(' '), timeZone }
        : {
            everySeconds,
            baseMs: startsAtMs ?? baseOf(before, everySeconds) ?? wholeSecond(nowMs),
          },
    priority,
    missed,
    ...(startsAtMs !== undefined && { startsAtMs }),
    ...(endsAtMs !== undefined && { endsAtMs }),
  }
}

function baseOf(before: Schedule | undefined, everySeconds: number): number | undefined {
  if (before === undefined || before.startsAtMs !== undefined) return undefined
  const { timing } = before
  return 'baseMs' in timing && timing.everySeconds === everySeconds ? timing.baseMs : undefined
}

const wholeSecond = (ms: number): number => Math.floor(ms / 1000) * 1000

/** Whether both are due at the same times. */
export const isTimedAlike = (one: Definition, other: Definition): boolean =>
  JSON.stringify(timesIn(one)) === JSON.stringify(timesIn(other))

const timesIn = ({ timing, startsAtMs, endsAtMs }: Definition) => [
  'cron' in timing ? [timing.cron, timing.timeZone] : [timing.everySeconds, timing.baseMs],
  startsAtMs ?? null,
  endsAtMs ?? null,
]

export const isDefinedAlike = (one: Definition, other: Definition): boolean =>
  isTimedAlike(one, other) && one.priority === other.priority && one.missed === other.missed

/** When the sweeper should come for it; undefined if no occurrence is left. */
export const checkAtOf = ({ paused, nextMs, retryAtMs }: Schedule): number | undefined =>
  paused || nextMs === undefined ? undefined : (retryAtMs ?? nextMs)

/** The times at which a schedule is due: whole seconds. */
export type Times = {
  /** The first at this time or later. */
  from(ms: number): number | undefined
  /** The last ones before this time, at most `count`, newest first. */
  before(ms: number, count: number): readonly number[]
}

/** Counted from the base, so that delays do not add up, however late we push each one. */
export function intervalTimes(baseMs: number, everySeconds: number): Times {
  const everyMs = everySeconds * 1000
  return {
    from: (ms) => baseMs + Math.ceil((ms - baseMs) / everyMs) * everyMs,
    before(ms, count) {
      const last = baseMs + (Math.ceil((ms - baseMs) / everyMs) - 1) * everyMs
      return Array.from({ length: count }, (_, index) => last - index * everyMs)
    },
  }
}

/** The times that are not before the schedule starts, nor after it ends. */
export function withinBounds(
  times: Times,
  {
    startsAtMs = Number.NEGATIVE_INFINITY,
    endsAtMs = Number.POSITIVE_INFINITY,
  }: Pick<Schedule, 'startsAtMs' | 'endsAtMs'>,
): Times {
  return {
    from(ms) {
      const time = times.from(Math.max(ms, startsAtMs))
      return time === undefined || time > endsAtMs ? undefined : time
    },
    before: (ms, count) =>
      times.before(Math.min(ms, endsAtMs + 1), count).filter((time) => time >= startsAtMs),
  }
}

type CronTiming = Extract<Timing, { cron: string }>

/**
 * The times of a cron expression; it throws if the calendar cannot read the expression. The caller hands in the
 * calendar, so that a process without cron schedules never loads it.
 */
export function cronTimes(Calendar: typeof Cron, timing: CronTiming): Times {
  checkCron(timing.cron)
  checkTimeZone(timing.timeZone)
  const cron = readCron(Calendar, timing)
  const march = readCron(Calendar, { ...timing, cron: MARCH })
  return {
    from: (ms) => nextRunOf(cron, { march, afterMs: ms - 1 }),
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

export type DueOccurrences = {
  /** The occurrences to push now, in order; empty if the schedule skips all that were due. */
  readonly dues: readonly number[]
  /** The occurrence after them; undefined if they are the last. */
  readonly nextMs: number | undefined
}

export const isDue = ({ paused, nextMs, retryAtMs }: Schedule, nowMs: number): boolean =>
  !paused && nextMs !== undefined && nextMs <= nowMs && (retryAtMs ?? nowMs) <= nowMs

/**
 * The due occurrences of a schedule, up to a maximum; undefined if none is due. An occurrence that waited (mostly for
 * room) does not count as missed, however old it is. We push one that is a few minutes late like any other. If the
 * first is older than that, the schedule's own rule says where to go on.
 */
export function dueOccurrences(
  schedule: Schedule,
  times: Times,
  nowMs: number,
  occurrencesMax: number,
): DueOccurrences | undefined {
  if (!isDue(schedule, nowMs) || schedule.nextMs === undefined) return undefined
  const dues: number[] = []
  let next: number | undefined = schedule.nextMs
  if (schedule.retryAtMs !== undefined) {
    dues.push(next)
    next = times.from(next + 1)
  }
  if (next !== undefined && next < nowMs - MISSED_AFTER_MS) {
    next = firstKept(schedule, times, next, nowMs)
  }
  while (next !== undefined && next <= nowMs && dues.length < occurrencesMax) {
    dues.push(next)
    next = times.from(next + 1)
  }
  return { dues, nextMs: next }
}

/**
 * The first to push of this occurrence and those after it. `skip` drops the missed ones, `one` pushes the last of
 * all that are due, `all` pushes each of the last thousand.
 */
function firstKept(
  { missed }: Pick<Schedule, 'missed'>,
  times: Times,
  missedMs: number,
  nowMs: number,
): number | undefined {
  const missedBeforeMs = nowMs - MISSED_AFTER_MS
  switch (missed) {
    case 'skip':
      return times.from(missedBeforeMs)
    case 'one':
      return Math.max(missedMs, ...times.before(nowMs + 1, 1))
    case 'all':
      return Math.max(missedMs, ...times.before(missedBeforeMs, MISSED_ALL_MAX).slice(-1))
    default:
      throw missed satisfies never
  }
}
