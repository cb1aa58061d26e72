import * as v from 'valibot'
import { DELAY_SECONDS_MAX, ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { Call } from './call.ts'
import { cursor, object, optional, pageLimit } from './fields.ts'

const number = (min: number, max: number, sentence: string) =>
  v.pipe(v.number(sentence), v.minValue(min, sentence), v.maxValue(max, sentence))

/** The year 5138: what lies further away is no time in seconds. */
const SECONDS_MAX = 99_999_999_999
export const time = () =>
  number(0, SECONDS_MAX, `must be a time in seconds since 1970, up to ${SECONDS_MAX}`)

const delay = () =>
  number(0, DELAY_SECONDS_MAX, `must be a number of seconds from 0 to ${DELAY_SECONDS_MAX}`)

/** When an item is to join its queue. */
export const laterFields = () => ({
  delay_seconds: optional(
    delay(),
    'The item joins its queue this many seconds after the push, to the second and never early. Default 0.',
  ),
  deliver_at: optional(
    time(),
    'The same as a time: epoch seconds, within five years. A time in the past is now. Not together with `delay_seconds`.',
  ),
})

const second = (description: string) =>
  optional(
    v.pipe(
      v.number('must be an integer'),
      v.integer('must be an integer'),
      v.minValue(0, 'must not be negative'),
      v.maxValue(SECONDS_MAX, `must be at most ${SECONDS_MAX}`),
    ),
    description,
  )

export const scheduledCall = {
  parameters: object({
    limit: v.optional(pageLimit(ITEMS_PER_POP_MAX)),
    cursor: v.optional(cursor()),
    from: second('Only what is due from this time on: epoch seconds.'),
    to: second('Only what is due up to this time: epoch seconds.'),
  }),
} as const satisfies Call
