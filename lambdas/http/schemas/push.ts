import * as v from 'valibot'
import { ITEM_TTL_SECONDS_MAX, ITEMS_PER_PUSH_MAX } from '../../engine/core/limits.ts'
import { PUSH_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { described, epochSeconds, integer, list, object, optional, priority } from './fields.ts'
import { laterFields } from './later.ts'

/** Stays text: nothing here looks into it, so it may contain anything. */
const item = () => described(v.any(), 'Any JSON value, up to 256 KiB of text.')

export const itemToPush = object({
  item: item(),
  priority: v.optional(priority()),
  expires_in_seconds: optional(
    integer(0, ITEM_TTL_SECONDS_MAX),
    'From this many seconds after the push on, no pop returns the item. Up to five years.',
  ),
  expires_at: optional(
    epochSeconds(),
    'The same as a time: epoch seconds, within five years. A time in the past means now: no pop returns it at all.',
  ),
  ...laterFields(),
})

const many = object({
  items: described(
    list(itemToPush, 1, ITEMS_PER_PUSH_MAX, 'objects with an item each'),
    'Pushes all of them, or none.',
  ),
})

const raw = { raw: new Set(['item']) }

export const pushCall = {
  headers: ['Idempotency-Key', 'Prefer'],
  body: {
    kind: 'required',
    schema: itemToPush,
    or: { field: 'items', schema: many },
    bytesMax: PUSH_BODY_BYTES_MAX,
    raw: { ...raw, lists: { items: { of: raw, max: ITEMS_PER_PUSH_MAX } } },
  },
} as const satisfies Call
