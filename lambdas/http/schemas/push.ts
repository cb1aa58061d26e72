import * as v from 'valibot'
import { ITEMS_PER_PUSH_MAX } from '../../engine/core/limits.ts'
import { PUSH_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { object, priority } from './fields.ts'

/** Kept as its text: nothing here looks into it, so anything may be in it. */
const item = () => v.pipe(v.any(), v.description('Any JSON value, up to 256 KiB of text.'))

const one = object({ item: item(), priority: v.optional(priority()) })

const sentence = `must be 1 to ${ITEMS_PER_PUSH_MAX} objects with an item each`
const many = object({
  items: v.pipe(
    v.array(one, sentence),
    v.minLength(1, sentence),
    v.maxLength(ITEMS_PER_PUSH_MAX, sentence),
    v.description('All of them are pushed, or none.'),
  ),
})

const raw = { raw: new Set(['item']) }

export const pushCall = {
  headers: ['Idempotency-Key'],
  body: {
    kind: 'required',
    schema: one,
    or: { field: 'items', schema: many },
    bytesMax: PUSH_BODY_BYTES_MAX,
    raw: { ...raw, lists: { items: { of: raw, max: ITEMS_PER_PUSH_MAX } } },
  },
} as const satisfies Call
