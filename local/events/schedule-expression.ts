// `rate(5 minutes)` and `cron(0 12 * * ? *)`, as EventBridge's rules have them, in UTC.

import { StartError } from '../start-error.ts'
import { parseCron } from './cron.ts'

/** When it fires next after a time; `undefined` when never again. */
export type Schedule = (afterMs: number) => number | undefined

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
