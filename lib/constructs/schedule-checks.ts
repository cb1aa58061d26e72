// Refuses a schedule that the service would refuse, while the stack is synthesised: by the engine's own checks.

import { types } from 'node:util'
import { Token } from 'aws-cdk-lib/core'
import { Cron } from 'croner'
import {
  checkScheduleInput,
  checkScheduleName,
  cronTimes,
  definitionOf,
  inputOf,
  intervalTimes,
  neverDue,
  type ScheduleInCode,
  withinBounds,
} from '../../engine/core/schedule.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { anything, aService, type Checks, checkProperties, must } from './property-checks.ts'
import type { PushPopScheduleProps } from './push-pop-schedule.ts'
import { jsonOf, ListOfTokensError } from './schedule-item.ts'

/** Properties by the names that the API has for them. */
const properties: Readonly<Record<string, string>> = {
  id: 'queue',
  time_zone: 'timeZone',
  every_seconds: 'everySeconds',
  starts_at: 'startsAt',
  ends_at: 'endsAt',
}

const aText = (example: string) =>
  must(`a text, such as '${example}'`, (value) => typeof value === 'string')
const aDate = must("a Date, such as new Date('2027-01-01')", types.isDate)

/** What the engine's checks would not explain: they are for values of the right type. */
const checks: Checks<PushPopScheduleProps> = {
  service: aService,
  queue: anything,
  name: anything,
  cron: aText('0 9 * * 1'),
  timeZone: aText('Europe/Berlin'),
  everySeconds: must('a number, such as 600', (value) => typeof value === 'number'),
  item: anything,
  priority: anything,
  startsAt: aDate,
  endsAt: aDate,
  missed: anything,
}

export const checkScheduleProps = (id: string, props: PushPopScheduleProps): void =>
  checkProperties(`schedule "${id}"`, props, checks, ['service'])

/** Returns it as it will be deployed. */
export function checkSchedule(id: string, given: ScheduleInCode): ScheduleInCode {
  const refuse = (reason: string): never => {
    throw new Error(`Cannot make the schedule "${id}" because ${reason}`)
  }
  const { queue, name, cron, timeZone } = given
  for (const [property, value] of Object.entries({ queue, name, cron, timeZone })) {
    if (Token.isUnresolved(value)) refuse(`\`${property}\` must be known when the app is run`)
  }
  try {
    const item = jsonOf(given.item)
    if (item === undefined) return refuse('`item` must be a JSON value')
    const schedule = { ...given, item: item.json }
    check(schedule)
    return schedule
  } catch (error) {
    if (error instanceof ListOfTokensError) {
      return refuse(
        '`item` has a list that only the deployment knows: name its elements one by one',
      )
    }
    if (!(error instanceof QueueError) || error.field === undefined) throw error
    const { field, message } = error
    const fromId = field === 'name' && name === id
    const instead = fromId ? ': give it a `name`, because its id cannot be one' : ''
    return refuse(`of \`${properties[field] ?? field}\`: ${inCamelCase(message)}${instead}`)
  }
}

function check(schedule: ScheduleInCode): void {
  checkQueueId(schedule.queue)
  checkScheduleName(schedule.name)
  const { queue: _, name: __, ...input } = inputOf(schedule)
  checkScheduleInput(input)
  // An interval then counts from 1970, which makes no difference to whether it ever comes.
  const { timing, startsAtMs = 0, endsAtMs } = definitionOf(input, undefined, 0)
  const times =
    'cron' in timing ? cronTimes(Cron, timing) : intervalTimes(timing.baseMs, timing.everySeconds)
  if (withinBounds(times, { startsAtMs, endsAtMs }).from(0) === undefined) throw neverDue(input)
}

const inCamelCase = (sentence: string): string =>
  sentence.replaceAll(/\b[a-z]+_[a-z]+\b/g, (word) => properties[word] ?? word)
