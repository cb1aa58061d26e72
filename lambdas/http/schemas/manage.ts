import { ITEMS_PER_REDRIVE_MAX } from '../../engine/core/limits.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { configurationEntries } from './configuration.ts'
import { integer, object, optional, priority } from './fields.ts'

const small = { bytesMax: SMALL_BODY_BYTES_MAX } as const

const plain = { raw: new Set<string>() }

export const configureCall = {
  headers: ['If-Match'],
  body: {
    ...small,
    kind: 'required',
    raw: { ...plain, objects: { push_limit: plain, pop_limit: plain } },
    schema: object(configurationEntries()),
  },
} as const satisfies Call

export const purgeCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      priority: optional(priority(), 'Only this priority. Default: all.'),
    }),
  },
} as const satisfies Call

export const redriveCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      limit: optional(integer(1, ITEMS_PER_REDRIVE_MAX), 'How many items at most. Default 1,000.'),
    }),
  },
} as const satisfies Call
