// Schedules of EventBridge's rules, in UTC: `rate(5 minutes)` and `cron(0 12 * * ? *)`. A timer fires once for each
// time, even if it is a moment early or the wait is longer than a timer takes.

import { randomUUID } from 'node:crypto'
import { Cron } from 'croner'
import { MARCH, nextRunOf } from '../../shared/next-run.ts'
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
  const [, fields] = /^cron\((.*)\)$/.exec(expression) ?? []
  const cron = fields === undefined ? undefined : parseCron(fields)
  if (cron) return (afterMs) => nextRunOf(cron, { march, afterMs })
  throw new StartError(
    `Cannot run the schedule ${expression} because the local stack does not understand it`,
  )
}

const march = new Cron(MARCH, { timezone: 'UTC', mode: '5-part' })

/**
 * Six fields: minute, hour, day of the month, month, day of the week (1 is Sunday), year. `undefined` if EventBridge
 * refuses it, or if it is not understood.
 */
function parseCron(text: string): Cron | undefined {
  const [minute, hour = '', day, month, weekday = '', year, ...more] = text.trim().split(/\s+/)
  if (year === undefined || more.length > 0) return undefined
  // One of the two kinds of days is to be `?`, and no other field may.
  const isOpen = day === '?' || weekday === '?'
  if (!isOpen || [minute, hour, month, year].includes('?')) return undefined
  // Croner takes 8 for a Sunday as well.
  if (/(?:^|[,-])8/.test(weekday)) return undefined
  const weekdays = weekday === 'L' ? 'SAT' : weekday
  const pattern = `0 ${minute} ${overMidnight(hour)} ${day} ${month} ${weekdays} ${year}`
  try {
    return new Cron(pattern, {
      timezone: 'UTC',
      mode: '7-part',
      // 1 is Sunday, and `0/15` has no end.
      alternativeWeekdays: true,
      sloppyRanges: true,
    })
  } catch {
    return undefined
  }
}

/** `20-2`, which EventBridge knows, as `20-23,0-2`. */
const overMidnight = (hours: string): string =>
  hours.replace(/(?<=^|,)(\d+)-(\d+)(?=$|,)/g, (range, from, to) =>
    Number(from) > Number(to) ? `${from}-23,0-${to}` : range,
  )
