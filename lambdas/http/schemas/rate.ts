import * as v from 'valibot'
import {
  CALLER_CHARACTERS_MAX,
  MAX_REQUESTS_MAX,
  PATTERNS_MAX,
  PREFIX_CHARACTERS_MAX,
  WAIT_MS_MAX,
} from '../../rate/core/bounds.ts'
import { settingFields } from '../../rate/core/setting-fields.ts'
import type { Overrides } from '../../rate/core/settings.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { described, flag, integer, object, optional, text } from './fields.ts'
import { defaultSentence, settingEntries } from './settings.ts'

const override = (name: keyof Overrides, what: string) => {
  const { min, max } = settingFields[name]
  return optional(
    integer(min, max),
    `Another ${what}, where that is allowed. ${defaultSentence(name)}`,
  )
}

/** The names are those of the documents that PushPop comes from. */
export const decideRateCall = {
  parameters: object({
    canWait: optional(flag(), 'Whether a place in a later window will do as well. Default false.'),
    maxRequests: override('maxRequests', 'limit'),
    maxRequestsInQueue: override('maxRequestsInQueue', 'line'),
    windowMillis: override('windowMillis', 'window'),
    cost: optional(
      integer(1, MAX_REQUESTS_MAX),
      'As how many requests it counts, all in one window. Default 1.',
    ),
    maxWaitMs: optional(
      integer(0, WAIT_MS_MAX),
      'How long the call may wait for its turn; if the turn is later, the answer is 202 at once. Default 10,000. The ' +
        'service has its own maximum, 2,000 unless configured otherwise.',
    ),
    caller: optional(
      text(1, CALLER_CHARACTERS_MAX),
      'Who asks: in a key of several shards, one caller’s requests keep their order.',
    ),
  }),
} as const satisfies Call

export const rateStateCall = {} as const satisfies Call
export const ticketCall = {} as const satisfies Call

export const rateConfigurationCall = {} as const satisfies Call

export const configureRateCall = {
  headers: ['If-Match'],
  body: { kind: 'required', bytesMax: SMALL_BODY_BYTES_MAX, schema: object(settingEntries()) },
} as const satisfies Call

export const unconfigureRateCall = { headers: ['If-Match'] } as const satisfies Call

const patternsSentence = `must be a list of at most ${PATTERNS_MAX} patterns`

const pattern = object({
  prefix: described(
    text(0, PREFIX_CHARACTERS_MAX),
    'For all keys with this prefix; empty for all keys.',
  ),
  ...settingEntries(),
})

export const configureRatePatternsCall = {
  headers: ['If-Match'],
  body: {
    kind: 'required',
    bytesMax: SMALL_BODY_BYTES_MAX,
    raw: {
      raw: new Set<string>(),
      lists: { patterns: { of: { raw: new Set<string>() }, max: PATTERNS_MAX } },
    },
    schema: object({
      patterns: described(
        v.pipe(v.array(pattern, patternsSentence), v.maxLength(PATTERNS_MAX, patternsSentence)),
        'The complete new list, in any order. The pattern with the longest prefix applies.',
      ),
    }),
  },
} as const satisfies Call
