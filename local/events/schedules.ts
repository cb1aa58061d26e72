// Schedules of EventBridge's rules, in UTC: `rate(5 minutes)` and `cron(0 12 * * ? *)`. A timer fires once for each
// time, even if it is a moment early or the wait is longer than a timer takes.

import { randomUUID } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { ACCOUNT, REGION } from '../template/identities.ts'
import type { SchedulePlan } from '../template/plan-sources.ts'

type ScheduleSettings = {
  readonly plan: SchedulePlan
  /** 60 makes a second of each minute, for users who do not want to wait. */
  readonly speed: number
  readonly fire: (event: Readonly<Record<string, unknown>>) => void
}

/** The longest that a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class ScheduleTimer {
  readonly #settings: ScheduleSettings
  readonly #schedule: Schedule
  readonly #startedMs = Date.now()
  #timer: NodeJS.Timeout | undefined

  constructor(settings: ScheduleSettings) {
    this.#settings = settings
    this.#schedule = parseSchedule(settings.plan.expression)
  }

  start(): void {
    this.#waitFor(this.#schedule(this.#nowMs()))
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** The time, by a clock that runs faster if the settings say so. */
  #nowMs(): number {
    return this.#startedMs + (Date.now() - this.#startedMs) * this.#settings.speed
  }

  #waitFor(nextMs: number | undefined): void {
    if (nextMs === undefined) return
    const { speed, plan, fire } = this.#settings
    const inMs = Math.max(0, (nextMs - this.#nowMs()) / speed)
    this.#timer = setTimeout(
      () => {
        if (inMs > TIMER_MS_MAX) {
          this.#waitFor(nextMs)
          return
        }
        fire(scheduledEvent(plan.arn, Date.now()))
        // A timer may be a moment early, and must not fire for the same time again.
        this.#waitFor(this.#schedule(Math.max(nextMs, this.#nowMs())))
      },
      Math.min(inMs, TIMER_MS_MAX),
    )
  }
}

function scheduledEvent(ruleArn: string, nowMs: number) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: ACCOUNT,
    time: eventTime(nowMs),
    region: REGION,
    resources: [ruleArn],
    detail: {},
  }
}

/** In seconds. */
export const eventTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

/** When it fires next after a time; `undefined` when never again. */
type Schedule = (afterMs: number) => number | undefined

const units: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

export function parseSchedule(expression: string): Schedule {
  const [, count, unit = '', plural] =
    /^rate\((\d+) (minute|hour|day)(s?)\)$/.exec(expression) ?? []
  // EventBridge refuses `1 minutes` and `5 minute`.
  const isSpelled = (count === '1') === (plural === '')
  const everyMs = isSpelled ? Number(count) * (units[unit] ?? 0) : 0
  // The first firing is one interval after the rule is made.
  if (everyMs > 0) return (afterMs) => afterMs + everyMs
  const cron = /^cron\((.*)\)$/.exec(expression)
  const schedule = cron && parseCron(cron[1] ?? '')
  if (schedule) return schedule
  throw new StartError(
    `Cannot run the schedule ${expression} because the local stack does not understand it`,
  )
}

type Field = ReadonlySet<number>

const monthNames = [
  'JAN',
  'FEB',
  'MAR',
  'APR',
  'MAY',
  'JUN',
  'JUL',
  'AUG',
  'SEP',
  'OCT',
  'NOV',
  'DEC',
]
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const DAY_MS = 86_400_000
/** Eight years: from one 29 February to the next if a century lies between. */
const DAYS_AHEAD = 366 * 8 + 1

/**
 * Six fields: minute, hour, day of the month, month, day of the week (1 is Sunday), year. The letters L, W and # are
 * not known here: nobody needs them to try something out. `undefined` if it is not understood, or refused by
 * EventBridge.
 */
function parseCron(text: string): Schedule | undefined {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== 6) return undefined
  // One of the two kinds of days is to be `?`, and no other field may.
  const [open, others] = [
    [2, 4],
    [0, 1, 3, 5],
  ].map((at) => at.some((index) => parts[index] === '?'))
  if (!open || others) return undefined
  const [minutes, hours, days, months, weekdays, years] = [
    parseField(parts[0], 0, 59),
    parseField(parts[1], 0, 23),
    parseField(parts[2], 1, 31),
    parseField(parts[3], 1, 12, monthNames),
    parseField(parts[4], 1, 7, dayNames),
    parseField(parts[5], 1970, 2199),
  ]
  if (!minutes || !hours || !days || !months || !weekdays || !years) return undefined
  const timesOfDay = [...hours]
    .flatMap((hour) => [...minutes].map((minute) => (hour * 60 + minute) * 60_000))
    .sort((a, b) => a - b)

  const isDay = (dayMs: number) => {
    const date = new Date(dayMs)
    return (
      years.has(date.getUTCFullYear()) &&
      months.has(date.getUTCMonth() + 1) &&
      days.has(date.getUTCDate()) &&
      weekdays.has(date.getUTCDay() + 1)
    )
  }
  return (afterMs) => {
    const today = Math.floor(afterMs / DAY_MS) * DAY_MS
    for (let day = 0; day < DAYS_AHEAD; day++) {
      const dayMs = today + day * DAY_MS
      if (!isDay(dayMs)) continue
      const time = timesOfDay.find((timeMs) => dayMs + timeMs > afterMs)
      if (time !== undefined) return dayMs + time
    }
    return undefined
  }
}

/** `*`, `?`, `5`, `1-5`, `MON-FRI`, `0/15`, `1-10/3` and lists of them. */
function parseField(
  text = '',
  lowest: number,
  highest: number,
  names: readonly string[] = [],
): Field | undefined {
  const found = new Set<number>()
  for (const part of text.toUpperCase().split(',')) {
    const [, from = '', to, step] = /^([^-/]+)(?:-([^/]+))?(?:\/(\d+))?$/.exec(part) ?? []
    const isAll = from === '*' || from === '?'
    const number = (value: string) => {
      const index = names.indexOf(value)
      return index >= 0 ? index + lowest : /^\d+$/.test(value) ? Number(value) : Number.NaN
    }
    const first = isAll ? lowest : number(from)
    const last = to !== undefined ? number(to) : isAll || step !== undefined ? highest : first
    const by = step === undefined ? 1 : Number(step)
    if (!(first >= lowest && last <= highest && first <= last && by >= 1)) return undefined
    for (let value = first; value <= last; value += by) found.add(value)
  }
  return found
}
