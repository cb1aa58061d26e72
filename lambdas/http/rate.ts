// The rate limiter's calls: what they accept and what they answer. A limit's "no" is a 429 with the state of the limit.

import {
  CALLER_CHARACTERS_MAX,
  MAX_REQUESTS_MAX,
  PATTERNS_MAX,
  PREFIX_CHARACTERS_MAX,
  WAIT_MS_DEFAULT,
  WAIT_MS_MAX,
} from '../../rate/core/bounds.ts'
import { type Overrides, settingFields } from '../../rate/core/settings.ts'
import type {
  AppliedSettings,
  Patterns,
  RateLimits,
  SettingsInput,
  TicketState,
} from '../../rate/rate-limits.ts'
import { camelCased, snakeCased } from '../../shared/wire.ts'
import { variables } from '../runtime/names.ts'
import { type Answer, answer, ok, RequestError, rateLimitHeaders, retryAfter } from './answer.ts'
import { revisionFor } from './bodies.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, storeErrors } from './page.ts'
import {
  allowedBody,
  givenUpBody,
  ownRevision,
  patternsBody,
  promisedBody,
  rateStateBody,
  ticketBody,
} from './rate-bodies.ts'
import { SMALL_BODY_BYTES_MAX } from './read-request.ts'
import { described, flag, integer, object, optional, patternList, text } from './schemas/fields.ts'
import * as answers from './schemas/more-answers.ts'
import { defaultSentence, settingEntries } from './schemas/settings.ts'

/**
 * How long a call waits for its turn, unless a setting says otherwise. That is less than a call may wait: each
 * waiting call takes an environment of the function, and an account has 1,000 of them for all its functions, a new
 * account 10. At 50 calls a second, waits of 2 s take 100 environments; waits of 20 s would take them all.
 */
const HOLD_MS_DEFAULT = 2_000

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
        patternList(pattern),
        'The complete new list, in any order. The pattern with the longest prefix applies.',
      ),
    }),
  },
} as const satisfies Call

export type RateEndpointsOptions = {
  /** No call waits longer than this, whatever it asks for: if its turn is later, it gets a ticket. */
  readonly holdMsMax?: number
  readonly nowMs?: () => number
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of endpoints, a few lines each
export const rateEndpoints = (
  limits: RateLimits,
  { holdMsMax = HOLD_MS_DEFAULT, nowMs = Date.now }: RateEndpointsOptions = {},
) => ({
  decideRate: endpoint(decideRateCall, async ({ key, parameters, requestId, receivedMs }) => {
    const { canWait, cost, maxWaitMs = WAIT_MS_DEFAULT, caller, ...overrides } = parameters
    const admission = await limits.admit(key, {
      canWait,
      cost,
      maxWaitMs: Math.min(maxWaitMs, holdMsMax),
      caller,
      overrides,
      receivedMs,
    })
    switch (admission.kind) {
      case 'allowed': {
        const body = { allowed: true, request_id: requestId, ...allowedBody(admission) }
        return ok(body, rateLimitHeaders(admission, admission.window.endMs - nowMs()))
      }
      case 'promised': {
        const { waitMs } = admission
        const body = { allowed: false, request_id: requestId, ...promisedBody(admission) }
        return answer(202, body, {
          ...rateLimitHeaders(admission, waitMs),
          'retry-after': retryAfter(waitMs),
        })
      }
      case 'denied': {
        const { full, retryAfterMs } = admission
        const message = full === 'line' ? lineIsFull : windowIsFull
        throw new RequestError('RATE_LIMITED', message, {
          retryable: true,
          headers: {
            ...rateLimitHeaders(admission, retryAfterMs),
            'retry-after': retryAfter(retryAfterMs),
          },
          extra: { allowed: false, retry_after_ms: retryAfterMs },
        })
      }
      case 'override-refused': {
        const { field } = admission
        const message = `This rate limit does not let a call choose ${field}; leave it out, or configure allow_overrides`
        throw new RequestError('OVERRIDE_REFUSED', message, { field })
      }
      default:
        return admission satisfies never
    }
  }),

  rateState: endpoint(rateStateCall, async ({ key }) => ok(rateStateBody(await limits.state(key)))),

  verifyTicket: endpoint(ticketCall, async ({ key, ticket, receivedMs }) => {
    const state = await limits.verify(key, ticket, { receivedMs })
    if (state.kind === 'invalid') throw ticketNotFound()
    return ticketAnswer(state)
  }),

  giveUpTicket: endpoint(ticketCall, async ({ key, ticket, receivedMs }) => {
    const outcome = await limits.giveUp(key, ticket, { receivedMs })
    if (outcome.kind === 'invalid') throw ticketNotFound()
    return ok(givenUpBody(outcome))
  }),

  rateConfiguration: endpoint(rateConfigurationCall, async ({ key }) =>
    configurationAnswer(await limits.configuration(key)),
  ),

  configureRate: endpoint(configureRateCall, async ({ key, body, header, receivedMs }) => {
    const ifMatch = await revisionFor(header('if-match'), () => ownRevisionOf(limits, key))
    const settings = camelCased(body) as SettingsInput
    const request = { ifMatch, receivedMs }
    return configurationAnswer(await limits.configure(key, settings, request))
  }),

  unconfigureRate: endpoint(unconfigureRateCall, async ({ key, header, receivedMs }) => {
    const ifMatch = await revisionFor(header('if-match'), () => ownRevisionOf(limits, key))
    return configurationAnswer(await limits.unconfigure(key, { ifMatch, receivedMs }))
  }),

  ratePatterns: endpoint(rateConfigurationCall, async () =>
    patternsAnswer(await limits.patterns()),
  ),

  configureRatePatterns: endpoint(
    configureRatePatternsCall,
    async ({ body, header, receivedMs }) => {
      const ifMatch = await revisionFor(header('if-match'), async () => {
        return (await limits.patterns()).revision
      })
      const patterns = body.patterns.map(({ prefix, ...settings }) => ({
        prefix,
        settings: camelCased(settings) as SettingsInput,
      }))
      return patternsAnswer(await limits.configurePatterns(patterns, { ifMatch, receivedMs }))
    },
  ),
})

const windowIsFull =
  'The limit of this window is reached; try again after retry_after_ms, or ask with canWait=true'
const lineIsFull = 'The line of those who wait is full; try again after retry_after_ms'

const ticketNotFound = (): RequestError =>
  new RequestError(
    'TICKET_NOT_FOUND',
    'This ticket does not belong to this rate limit; send it unchanged, under the same key',
  )

const ticketAnswer = (state: Exclude<TicketState, { kind: 'invalid' }>): Answer =>
  ok(
    ticketBody(state),
    state.kind === 'waiting' ? { 'retry-after': retryAfter(state.retryAfterMs) } : {},
  )

const ownRevisionOf = async (limits: RateLimits, key: string): Promise<number> =>
  ownRevision(await limits.configuration(key))

/** Every setting: a PUT accepts what a GET returned. */
const configurationAnswer = (applied: AppliedSettings): Answer =>
  ok(snakeCased(applied.settings), { etag: `"${ownRevision(applied)}"` })

const patternsAnswer = (patterns: Patterns): Answer =>
  ok(patternsBody(patterns), { etag: `"${patterns.revision}"` })

const NAME = variables.rateHoldMs

/** The longest time for which a call waits for its turn, whatever it asks for. */
export function rateHoldMs(environment: Readonly<Record<string, string | undefined>>): number {
  const value = environment[NAME]
  if (!value) return HOLD_MS_DEFAULT
  const ms = Number(value)
  if (Number.isInteger(ms) && ms >= 0 && ms <= WAIT_MS_MAX) return ms
  throw new Error(
    `Cannot start because ${NAME} must be an integer from 0 to ${WAIT_MS_MAX}, not "${value}"`,
  )
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table, some lines a call
export const ratePages = (): Pages<keyof ReturnType<typeof rateEndpoints>> => ({
  decideRate: {
    tag: 'Rate limits',
    summary: 'Ask for a turn',
    description:
      '200: go. 202: a turn is promised, with a ticket. 429: no. With `canWait` a place in a coming ' +
      'window, in order of arrival: the call is held until its turn if that comes within ' +
      '`maxWaitMs` and within the time for which the service holds calls (by default 2 s), and ' +
      'answered 202 at once if it does not. `RateLimit` and `RateLimit-Policy` are ' +
      'those of draft-ietf-httpapi-ratelimit-headers-10.',
    answer: answers.rateAllowed,
    accepted: {
      says: 'A turn is promised',
      answer: answers.rateTicketed,
      header: 'Retry-After',
    },
    hasRateLimit: true,
    errors: [...storeErrors, 'BUSY', 'OVERRIDE_REFUSED'],
  },
  rateState: {
    tag: 'Rate limits',
    summary: 'The state of a rate limit',
    description:
      'The limit, where it comes from, how much of it is left, and who waits. Changes nothing.',
    answer: answers.rateState,
    errors: storeErrors,
  },
  verifyTicket: {
    tag: 'Rate limits',
    summary: 'The state of a ticket',
    description: 'Decided by the ticket and the clock; asking does not use it up.',
    answer: answers.ticketState,
    errors: [...storeErrors, 'TICKET_NOT_FOUND'],
  },
  giveUpTicket: {
    tag: 'Rate limits',
    summary: 'Give a promised turn up',
    description: 'Another caller gets it only if nobody waits behind it: no promised turn moves.',
    answer: answers.ticketGivenUp,
    errors: [...storeErrors, 'TICKET_NOT_FOUND'],
  },
  rateConfiguration: {
    tag: 'Rate limits',
    summary: 'The configuration that applies to a rate limit',
    description:
      'Its own, or that of the longest prefix, or the default. The `ETag` is the revision of its ' +
      'own; `"0"` where it has none.',
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: storeErrors,
  },
  configureRate: {
    tag: 'Rate limits',
    summary: 'Give a rate limit its own configuration',
    description:
      'A setting that you leave out has its default. Turns that were promised stay as they are.',
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: [...storeErrors, 'BUSY', 'VERSION_MISMATCH'],
  },
  unconfigureRate: {
    tag: 'Rate limits',
    summary: 'Remove a rate limit’s own configuration',
    description: 'That of its prefix, or the default, applies again; the answer shows it.',
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: [...storeErrors, 'BUSY', 'VERSION_MISMATCH'],
  },
  ratePatterns: {
    tag: 'Rate limits',
    summary: 'The configurations of prefixes',
    description:
      'In the order in which they apply: the longest prefix first. The `ETag` is the revision of all of them.',
    answer: answers.ratePatterns,
    hasEtag: true,
    errors: storeErrors,
  },
  configureRatePatterns: {
    tag: 'Rate limits',
    summary: 'Replace the configurations of prefixes',
    description: 'All at once. They take effect within half a minute.',
    answer: answers.ratePatterns,
    hasEtag: true,
    errors: [...storeErrors, 'BUSY', 'VERSION_MISMATCH'],
  },
})
