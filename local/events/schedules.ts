import { randomUUID } from 'node:crypto'
import { ACCOUNT, REGION } from '../template/identities.ts'
import type { SchedulePlan } from '../template/plan-events.ts'
import { parseSchedule, type Schedule } from './schedule-expression.ts'

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
