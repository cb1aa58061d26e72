import * as v from 'valibot'
import { DELAY_SECONDS_MAX } from '../../engine/core/limits.ts'
import { epochSeconds, optional } from './fields.ts'

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
