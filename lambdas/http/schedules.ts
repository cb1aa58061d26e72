// The calls that change a queue's schedules. `If-Match` holds for the state that the engine's write names, as in
// `manage.ts`.

import * as v from 'valibot'
import {
  CRON_CHARACTERS_MAX,
  EVERY_SECONDS_MAX,
  EVERY_SECONDS_MIN,
  PUSH_BYTES_MAX,
} from '../../engine/core/limits.ts'
import type { Queues } from '../../engine/queues.ts'
import { QueueError } from '../../shared/errors.ts'
import { present } from '../../shared/wire.ts'
import { ok } from './answer.ts'
import { changedAnswer, isAny, scheduleAnswer, tagFor } from './bodies.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, queueErrors } from './page.ts'
import * as answers from './schemas/answers.ts'
import {
  described,
  integer,
  object,
  optional,
  priority,
  text,
  wholeEpochSeconds,
} from './schemas/fields.ts'
import * as moreAnswers from './schemas/more-answers.ts'

const TIME_ZONE_CHARACTERS_MAX = 100
/** The last second of the year 9999. */
const SCHEDULE_SECONDS_MAX = 253_402_300_799

export const putScheduleCall = {
  headers: ['If-Match'],
  body: {
    kind: 'required',
    bytesMax: PUSH_BYTES_MAX,
    raw: { raw: new Set(['item']) },
    schema: object({
      item: described(v.any(), 'What is pushed: any JSON value, up to 256 KiB of text.'),
      priority: v.optional(priority()),
      cron: optional(
        text(1, CRON_CHARACTERS_MAX),
        'Minute, hour, day of the month, month, day of the week: `0 9 * * 1`. Either this or `every_seconds`.',
      ),
      time_zone: optional(
        text(1, TIME_ZONE_CHARACTERS_MAX),
        'For `cron`: an IANA name such as `Europe/Berlin`. Default `UTC`.',
      ),
      every_seconds: optional(
        integer(EVERY_SECONDS_MIN, EVERY_SECONDS_MAX),
        'The interval, counted from `starts_at`, or from when it was first put.',
      ),
      starts_at: optional(
        wholeEpochSeconds(SCHEDULE_SECONDS_MAX),
        'Not due before; epoch seconds.',
      ),
      ends_at: optional(wholeEpochSeconds(SCHEDULE_SECONDS_MAX), 'Not due after; epoch seconds.'),
      missed: optional(
        v.picklist(['skip', 'one', 'all'], 'must be skip, one or all'),
        'What happens to missed occurrences: push none, one for all, or each of the last 1,000. Default `one`.',
      ),
    }),
  },
} as const satisfies Call

export const deleteScheduleCall = { headers: ['If-Match'] } as const satisfies Call

/** The call needs no body; if there is one, it must be an empty object. */
export const scheduleActionCall = {
  body: { kind: 'optional', bytesMax: 1_024, schema: object({}) },
} as const satisfies Call

export const scheduleEndpoints = (queues: Queues) => {
  const matchOf = async (header: string | undefined, queue: string, name: string) => {
    // Unlike a configuration, a schedule may not exist, and then it does not match.
    if (header !== undefined && isAny(header)) return { ifMatch: '*' }
    return present({ ifMatch: await tagFor(header, () => tagIfThere(queues, queue, name)) })
  }

  return {
    putSchedule: endpoint(putScheduleCall, async ({ queue, schedule: name, body, header }) => {
      const input = present({
        cron: body.cron,
        timeZone: body.time_zone,
        everySeconds: body.every_seconds,
        text: body.item as string,
        priority: body.priority,
        startsAtMs: msOfSeconds(body.starts_at),
        endsAtMs: msOfSeconds(body.ends_at),
        missed: body.missed,
      })
      const match = await matchOf(header('if-match'), queue, name)
      return scheduleAnswer(await queues.putSchedule(queue, name, input, match))
    }),

    deleteSchedule: endpoint(deleteScheduleCall, async ({ queue, schedule: name, header }) => {
      const match = await matchOf(header('if-match'), queue, name)
      return ok({ success: true, deleted: await queues.deleteSchedule(queue, name, match) })
    }),

    runSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name, tally }) => {
      const { ids } = await queues.runSchedule(queue, name)
      tally.count('ItemsPushed', ids.length)
      return ok({ success: true, items_pushed: ids.length, ids })
    }),

    pauseSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name }) =>
      changedAnswer(await queues.pauseSchedule(queue, name)),
    ),

    resumeSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name }) =>
      changedAnswer(await queues.resumeSchedule(queue, name)),
    ),
  }
}

const tagIfThere = (queues: Queues, queue: string, name: string): Promise<string | undefined> =>
  queues.schedule(queue, name).then(
    ({ tag }) => tag,
    (error: unknown) => {
      if (error instanceof QueueError && error.code === 'SCHEDULE_NOT_FOUND') return undefined
      throw error
    },
  )

const msOfSeconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1_000

export const schedulePages = (): Pages<keyof ReturnType<typeof scheduleEndpoints>> => ({
  putSchedule: {
    tag: 'Management',
    summary: 'Make a schedule, or replace it',
    description:
      'The queue gets `item` each time that the schedule is due, each occurrence once. A PUT replaces the ' +
      'schedule whole; times that stay the same go on, and to put the same again changes nothing. ' +
      'At most 100 a queue.',
    answer: moreAnswers.schedule,
    hasEtag: true,
    errors: [
      ...queueErrors,
      'INVALID_ITEM',
      'INVALID_PRIORITY',
      'ITEM_TOO_LARGE',
      'TOO_MANY_SCHEDULES',
      'VERSION_MISMATCH',
    ],
  },
  deleteSchedule: {
    tag: 'Management',
    summary: 'Delete a schedule',
    description:
      'The items that it has pushed stay. To delete a schedule that does not exist is no error.',
    answer: moreAnswers.scheduleDeleted,
    errors: [...queueErrors, 'VERSION_MISMATCH'],
  },
  runSchedule: {
    tag: 'Management',
    summary: 'Push a schedule’s item now',
    description: 'Once, paused or not. Its times stay as they are.',
    answer: answers.pushed,
    errors: [
      ...queueErrors,
      'SEGMENT_UNAVAILABLE',
      'SCHEDULE_NOT_FOUND',
      'QUEUE_FULL',
      'TOO_MANY_PRIORITIES',
    ],
  },
  pauseSchedule: {
    tag: 'Management',
    summary: 'Pause a schedule',
    description: 'It pushes nothing until it is resumed.',
    answer: moreAnswers.scheduleChanged,
    hasEtag: true,
    errors: [...queueErrors, 'SCHEDULE_NOT_FOUND'],
  },
  resumeSchedule: {
    tag: 'Management',
    summary: 'Resume a schedule',
    description: '`missed` decides about occurrences that were due meanwhile.',
    answer: moreAnswers.scheduleChanged,
    hasEtag: true,
    errors: [...queueErrors, 'SCHEDULE_NOT_FOUND'],
  },
})
