import * as v from 'valibot'
import { ITEMS_PER_REDRIVE_MAX } from '../../engine/core/limits.ts'
import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from '../../rate/core/bounds.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { configurationEntries, ignoredSource } from './configuration.ts'
import {
  described,
  epochSeconds,
  integer,
  itemIds,
  object,
  optional,
  priority,
  QUEUE_ID_CHARACTERS_MAX,
  text,
} from './fields.ts'

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

const patternsSentence = `must be a list of at most ${PATTERNS_MAX} patterns`

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
        v.pipe(v.array(pattern, patternsSentence), v.maxLength(PATTERNS_MAX, patternsSentence)),
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
