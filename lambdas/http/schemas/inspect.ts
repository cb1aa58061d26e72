import * as v from 'valibot'
import { ITEMS_PER_POP_MAX, QUEUES_PER_PAGE_MAX } from '../../engine/core/limits.ts'
import type { Call } from './call.ts'
import {
  cursor,
  flag,
  itemId,
  object,
  optional,
  pageLimit,
  priority,
  QUEUE_ID_CHARACTERS_MAX,
  text,
} from './fields.ts'

export const inspectCall = {
  parameters: object({
    consistent: optional(
      flag(),
      'Sees every write that was answered, for twice the price. Default false.',
    ),
    oldest: optional(
      flag(),
      'Also returns when the oldest item was pushed, even if that takes a read of each priority. Default false.',
    ),
  }),
} as const satisfies Call

export const browseCall = {
  parameters: object({
    priority: optional(priority(), 'Only this priority. Default: all, in order.'),
    limit: v.optional(pageLimit(ITEMS_PER_POP_MAX)),
    from: optional(
      itemId(),
      'The id of an item: the first page begins with it, or at its former place. Default: the front, or the end.',
    ),
    order: optional(
      v.picklist(['oldest', 'newest'], 'must be oldest or newest'),
      '`newest` begins at the end and goes backwards. Default `oldest`.',
    ),
    cursor: v.optional(cursor()),
  }),
} as const satisfies Call

export const configurationCall = {} as const satisfies Call

export const queuePatternsCall = {} as const satisfies Call

export const listCall = {
  parameters: object({
    prefix: optional(text(0, QUEUE_ID_CHARACTERS_MAX), 'Only ids with this prefix.'),
    ids: optional(
      text(1, QUEUES_PER_PAGE_MAX * (QUEUE_ID_CHARACTERS_MAX + 1)),
      'Up to 100 ids, separated by commas: only these queues, in this order, instead of pages.',
    ),
    detail: optional(
      flag(),
      'Also returns how many items are locked, dead and scheduled, and each priority’s count. Default false.',
    ),
    limit: v.optional(pageLimit(QUEUES_PER_PAGE_MAX)),
    cursor: v.optional(cursor()),
  }),
} as const satisfies Call
