// The calls that change a queue's settings, schedules and waiting items, or the settings of prefixes. `If-Match`
// holds for the state that the engine's write names, not only for the one that we looked at.

import * as v from 'valibot'
import {
  CRON_CHARACTERS_MAX,
  EVERY_SECONDS_MAX,
  EVERY_SECONDS_MIN,
  ITEMS_PER_REDRIVE_MAX,
  PUSH_BYTES_MAX,
} from '../../engine/core/limits.ts'
import { type ConfigurationChange, tagOf } from '../../engine/core/settings.ts'
import type { Queues } from '../../engine/queues.ts'
import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from '../../rate/core/bounds.ts'
import { QueueError } from '../../shared/errors.ts'
import { camelCased, msOf, present, snakeCased } from '../../shared/wire.ts'
import { ok } from './answer.ts'
import {
  changedAnswer,
  configurationAnswer,
  isAny,
  queuePatternsAnswer,
  revisionFor,
  scheduleAnswer,
  tagFor,
} from './bodies.ts'
import { type Call, endpoint } from './endpoint.ts'
import { SMALL_BODY_BYTES_MAX } from './read-request.ts'
import {
  described,
  epochSeconds,
  integer,
  itemIds,
  object,
  optional,
  patternList,
  priority,
  QUEUE_ID_CHARACTERS_MAX,
  text,
  wholeEpochSeconds,
} from './schemas/fields.ts'
import { configurationEntries, ignoredSource } from './schemas/settings.ts'

const TIME_ZONE_CHARACTERS_MAX = 100
/** The last second of the year 9999. */
const SCHEDULE_SECONDS_MAX = 253_402_300_799

const small = { bytesMax: SMALL_BODY_BYTES_MAX } as const

const plain = { raw: new Set<string>() }

export const configureCall = {
  headers: ['If-Match'],
  body: {
    ...small,
    kind: 'required',
    raw: { ...plain, objects: { push_limit: plain, pop_limit: plain } },
    schema: object({ ...configurationEntries(), source: ignoredSource() }),
  },
} as const satisfies Call

export const unconfigureCall = { headers: ['If-Match'] } as const satisfies Call

const pattern = object({
  prefix: described(
    text(0, PREFIX_CHARACTERS_MAX),
    'For all queues with this prefix that do not have their own settings; empty for all queues.',
  ),
  ...configurationEntries(),
})

export const configureQueuePatternsCall = {
  headers: ['If-Match'],
  body: {
    ...small,
    kind: 'required',
    raw: {
      ...plain,
      lists: {
        patterns: {
          of: { ...plain, objects: { push_limit: plain, pop_limit: plain } },
          max: PATTERNS_MAX,
        },
      },
    },
    schema: object({
      patterns: described(
        patternList(pattern),
        'The complete new list, in any order. The pattern with the longest prefix applies, as a whole.',
      ),
    }),
  },
} as const satisfies Call

export const cancelCall = {
  body: {
    ...small,
    kind: 'required',
    schema: object({
      ids: itemIds('Ids of waiting or scheduled items, as the push returned them.'),
    }),
  },
} as const satisfies Call

export const moveCall = {
  body: {
    ...small,
    kind: 'required',
    schema: object({
      ids: itemIds('Ids of waiting or scheduled items, as the push returned them.'),
      priority: optional(priority(), 'Where they go. Default: each keeps its own.'),
      queue: optional(
        text(1, QUEUE_ID_CHARACTERS_MAX),
        'The queue that they go to. Default: they stay in this one.',
      ),
      deliver_at: optional(
        epochSeconds(),
        'When they become due: epoch seconds, within five years. A time in the past means now. Default: waiting items stay waiting, and scheduled ones keep their time.',
      ),
    }),
  },
} as const satisfies Call

export const purgeCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      priority: optional(priority(), 'Only this priority. Default: all.'),
      ids: v.optional(itemIds('Only these items, locked ones too; not with `priority`.')),
    }),
  },
} as const satisfies Call

export const redriveCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      limit: optional(integer(1, ITEMS_PER_REDRIVE_MAX), 'How many items at most. Default 1,000.'),
      ids: v.optional(itemIds('Only these items; not with `limit`.')),
    }),
  },
} as const satisfies Call

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

export const manageEndpoints = (queues: Queues) => ({
  configure: endpoint(configureCall, async ({ queue, body, header }) => {
    const { source: _, ...settings } = body
    const change = camelCased(settings) as ConfigurationChange
    const ifMatch = await tagFor(header('if-match'), () => tagOfQueue(queues, queue))
    return configurationAnswer(await queues.configure(queue, change, present({ ifMatch })))
  }),

  unconfigure: endpoint(unconfigureCall, async ({ queue, header }) => {
    const ifMatch = await tagFor(header('if-match'), () => tagOfQueue(queues, queue))
    return configurationAnswer(await queues.unconfigure(queue, present({ ifMatch })))
  }),

  configureQueuePatterns: endpoint(configureQueuePatternsCall, async ({ body, header }) => {
    const ifMatch = await revisionFor(header('if-match'), async () => {
      return (await queues.patterns()).revision
    })
    const patterns = body.patterns.map(({ prefix, ...settings }) => ({
      prefix,
      settings: camelCased(settings) as ConfigurationChange,
    }))
    return queuePatternsAnswer(await queues.configurePatterns(patterns, present({ ifMatch })))
  }),

  cancel: endpoint(cancelCall, async ({ queue, body }) =>
    ok({ results: await queues.cancel(queue, body.ids) }),
  ),

  move: endpoint(moveCall, async ({ queue, body }) => {
    const { deliver_at, ...where } = body
    const request = present({ ...where, deliverAtMs: msOf(deliver_at) })
    const results = await queues.move(queue, request)
    return ok({ results: results.map(snakeCased) })
  }),
  ...changeScheduleEndpoints(queues),

  purge: endpoint(purgeCall, async ({ queue, body }) => {
    const { itemsPurged } = await queues.purge(queue, present(body))
    return ok({ success: true, items_purged: itemsPurged })
  }),

  redrive: endpoint(redriveCall, async ({ queue, body }) => {
    const { itemsRedriven, itemsLeft } = await queues.redrive(queue, present(body))
    return ok({ success: true, items_redriven: itemsRedriven, items_left: itemsLeft })
  }),
})

const tagOfQueue = async (queues: Queues, queue: string): Promise<string> =>
  tagOf(await queues.configuration(queue))

const changeScheduleEndpoints = (queues: Queues) => {
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
