import * as v from 'valibot'
import { DELAY_SECONDS_MAX, ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { Call } from './call.ts'
import { cursor, epochSeconds, object, optional, pageLimit, wholeEpochSeconds } from './fields.ts'

const number = (min: number, max: number, sentence: string) =>
  v.pipe(v.number(sentence), v.minValue(min, sentence), v.maxValue(max, sentence))

const delay = () =>
  number(0, DELAY_SECONDS_MAX, `must be a number of seconds from 0 to ${DELAY_SECONDS_MAX}`)

/** When an item should join its queue. */
export const laterFields = () => ({
  delay_seconds: optional(
    delay(),
    'The item joins its queue this many seconds after the push, to the second and never early. Default 0.',
  ),
  deliver_at: optional(
    epochSeconds(),
    'The same as a time: epoch seconds, within five years. A time in the past is now. Not together with `delay_seconds`.',
  ),
})

export const scheduledCall = {
  parameters: object({
    limit: v.optional(pageLimit(ITEMS_PER_POP_MAX)),
    cursor: v.optional(cursor()),
    from: optional(
      wholeEpochSeconds(),
      'Only items that are due from this time on: epoch seconds.',
    ),
    to: optional(wholeEpochSeconds(), 'Only items that are due up to this time: epoch seconds.'),
  }),
} as const satisfies Call
