import * as v from 'valibot'
import {
  CALLER_CHARACTERS_MAX,
  IN_LINE_MAX,
  MAX_REQUESTS_MAX,
  PATTERNS_MAX,
  PREFIX_CHARACTERS_MAX,
  SHARDS_MAX,
  WAIT_MS_MAX,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from '../../rate/core/bounds.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { flag, integer, object, text } from './fields.ts'

export const maxRequests = () => integer(1, MAX_REQUESTS_MAX)
const maxRequestsInQueue = () => integer(0, IN_LINE_MAX)
const windowMillis = () => integer(WINDOW_MS_MIN, WINDOW_MS_MAX)

const withDescription = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.optional(v.pipe(schema, v.description(description)))

/** The names are the sources'. */
export const decideRateCall = {
  parameters: object({
    canWait: withDescription(flag(), 'A place in a coming window will do as well. Default false.'),
    maxRequests: withDescription(
      maxRequests(),
      'Another limit, where that is allowed. Default 100.',
    ),
    maxRequestsInQueue: withDescription(
      maxRequestsInQueue(),
      'Another line, where that is allowed. Default 400.',
    ),
    windowMillis: withDescription(
      windowMillis(),
      'Another window, where that is allowed. Default 1,000.',
    ),
    cost: withDescription(maxRequests(), 'Requests it counts as, all in one window. Default 1.'),
    maxWaitMs: withDescription(
      integer(0, WAIT_MS_MAX),
      'How long the call may be held; a later turn is answered 202 at once. Default 10,000. The ' +
        'service holds no call for longer than it is set to, 2,000 unless told otherwise.',
    ),
    caller: withDescription(
      text(1, CALLER_CHARACTERS_MAX),
      'Who asks: in a key of several shards, one caller’s requests keep their order.',
    ),
  }),
} as const satisfies Call

export const rateStateCall = {} as const satisfies Call
export const ticketCall = {} as const satisfies Call

/** What a limit without a line is made of: a queue's as well. */
export const limitSettings = {
  max_requests: withDescription(maxRequests(), 'A window. Default 100.'),
  window_millis: withDescription(windowMillis(), 'How long a window is. Default 1,000.'),
  algorithm: withDescription(
    v.picklist(['window', 'smooth'] as const, 'must be "window" or "smooth"'),
    '`smooth`: no double burst at a window’s edge. Default `window`.',
  ),
  burst: withDescription(maxRequests(), 'Of `smooth`: at once, after a rest. Default 1.'),
}

const settings = {
  ...limitSettings,
  max_requests_in_queue: withDescription(
    maxRequestsInQueue(),
    'Promised beyond the window that is now. Default 400.',
  ),
  shards: withDescription(
    integer(1, SHARDS_MAX),
    'Parts with an order and a share of the limit each. Default 1; of a pattern it must be 1.',
  ),
  allow_overrides: withDescription(
    flag(),
    'Whether a call may bring a limit of its own. Default false.',
  ),
}

export const rateConfigurationCall = {} as const satisfies Call

export const configureRateCall = {
  headers: ['If-Match'],
  body: { kind: 'required', bytesMax: SMALL_BODY_BYTES_MAX, schema: object(settings) },
} as const satisfies Call

export const unconfigureRateCall = { headers: ['If-Match'] } as const satisfies Call

const patternsSentence = `must be a list of at most ${PATTERNS_MAX} patterns`

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
      patterns: v.pipe(
        v.array(
          object({
            prefix: v.pipe(
              text(0, PREFIX_CHARACTERS_MAX),
              v.description('For all keys that begin so; empty for all keys.'),
            ),
            ...settings,
          }),
          patternsSentence,
        ),
        v.maxLength(PATTERNS_MAX, patternsSentence),
        v.description('All there shall be, in any order: the longest prefix applies.'),
      ),
    }),
  },
} as const satisfies Call
