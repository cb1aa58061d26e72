// The calls that change a queue's settings and waiting items, or the settings of prefixes. `If-Match`
// holds for the state that the engine's write names, not only for the one that we looked at.

import * as v from 'valibot'
import { ITEMS_PER_REDRIVE_MAX } from '../../engine/core/limits.ts'
import { type ConfigurationChange, tagOf } from '../../engine/core/settings.ts'
import type { Queues } from '../../engine/queues.ts'
import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from '../../rate/core/bounds.ts'
import { camelCased, msOf, present, snakeCased } from '../../shared/wire.ts'
import { ok } from './answer.ts'
import { configurationAnswer, queuePatternsAnswer, revisionFor, tagFor } from './bodies.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, queueErrors, storeErrors } from './page.ts'
import { SMALL_BODY_BYTES_MAX } from './read-request.ts'
import * as answers from './schemas/answers.ts'
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
} from './schemas/fields.ts'
import { configurationEntries, ignoredSource } from './schemas/settings.ts'

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

export const managePages = (): Pages<keyof ReturnType<typeof manageEndpoints>> => ({
  configure: {
    tag: 'Management',
    summary: 'Change the configuration of a queue',
    description:
      'A setting that you leave out stays; `null` removes it. The first own settings begin with the defaults.',
    answer: answers.configuration,
    hasEtag: true,
    errors: [...queueErrors, 'VERSION_MISMATCH'],
  },
  unconfigure: {
    tag: 'Management',
    summary: 'Remove a queue’s own configuration',
    description: 'That of its prefix, or the default, applies again; the answer shows it.',
    answer: answers.configuration,
    hasEtag: true,
    errors: [...queueErrors, 'VERSION_MISMATCH'],
  },
  configureQueuePatterns: {
    tag: 'Management',
    summary: 'Replace the configurations of prefixes',
    description:
      'All at once. New queues have them within half a minute, and existing ones within some minutes.',
    answer: answers.queuePatterns,
    hasEtag: true,
    errors: [...storeErrors, 'BUSY', 'VERSION_MISMATCH'],
  },
  cancel: {
    tag: 'Management',
    summary: 'Take back up to 100 items that wait or are scheduled',
    description:
      'By their ids, with a result for each; nothing is searched for. Items that a pop has locked stay; ' +
      'a repetition after a lost answer says `gone`, which is true (docs/time.md).',
    answer: answers.cancelled,
    errors: [...queueErrors, 'TOO_MANY_LOCKS'],
  },
  move: {
    tag: 'Management',
    summary: 'Move up to 100 items that wait or are scheduled to another priority, queue or time',
    description:
      'To its end, in the order they have in the queue, each in one place at any time. They keep `pushed_at`, ' +
      'and get new ids. In another queue they count towards its capacity. With `deliver_at` ahead they are ' +
      'scheduled until then (docs/time.md).',
    answer: answers.moved,
    errors: [
      ...queueErrors,
      'SEGMENT_UNAVAILABLE',
      'INVALID_PRIORITY',
      'QUEUE_FULL',
      'TOO_MANY_LOCKS',
      'TOO_MANY_PRIORITIES',
    ],
  },
  purge: {
    tag: 'Management',
    summary: 'Remove all items, all of one priority, or those named',
    description:
      'Without `priority` and `ids` also scheduled items. Drops the locks on them. Items pushed meanwhile stay.',
    answer: answers.purged,
    errors: [...queueErrors, 'INVALID_PRIORITY', 'TOO_MANY_LOCKS'],
  },
  redrive: {
    tag: 'Management',
    summary: 'Move dead-lettered items back to where they came from',
    description: 'Order and priority kept. Locked items and items pushed here by hand stay.',
    answer: answers.redriven,
    errors: [...queueErrors, 'SEGMENT_UNAVAILABLE', 'TOO_MANY_PRIORITIES'],
  },
})
