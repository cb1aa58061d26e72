import * as v from 'valibot'
import {
  CRON_CHARACTERS_MAX,
  EVERY_SECONDS_MAX,
  EVERY_SECONDS_MIN,
} from '../../engine/core/limits.ts'
import { PUSH_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import {
  described,
  integer,
  object,
  optional,
  priority,
  text,
  wholeEpochSeconds,
} from './fields.ts'

const TIME_ZONE_CHARACTERS_MAX = 100
/** The last second of the year 9999. */
const EPOCH_SECONDS_MAX = 253_402_300_799

export const putScheduleCall = {
  headers: ['If-Match'],
  body: {
    kind: 'required',
    bytesMax: PUSH_BODY_BYTES_MAX,
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
      starts_at: optional(wholeEpochSeconds(EPOCH_SECONDS_MAX), 'Not due before; epoch seconds.'),
      ends_at: optional(wholeEpochSeconds(EPOCH_SECONDS_MAX), 'Not due after; epoch seconds.'),
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
