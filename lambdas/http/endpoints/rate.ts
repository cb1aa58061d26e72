import { camelCased, snakeCased } from '../../foundation/shared/wire-names.ts'
import { HOLD_MS_DEFAULT, WAIT_MS_DEFAULT } from '../../rate/core/bounds.ts'
import type {
  AppliedSettings,
  Patterns,
  RateLimits,
  SettingsInput,
  TicketState,
} from '../../rate/rate-limits.ts'
import { type Answer, answer, ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { revisionFor } from '../if-match.ts'
import {
  allowedBody,
  givenUpBody,
  ownRevision,
  patternsBody,
  promisedBody,
  rateStateBody,
  ticketBody,
} from '../rate-bodies.ts'
import { rateLimitHeaders, retryAfter } from '../rate-headers.ts'
import { RequestError } from '../request-error.ts'
import {
  configureRateCall,
  configureRatePatternsCall,
  decideRateCall,
  rateConfigurationCall,
  rateStateCall,
  ticketCall,
  unconfigureRateCall,
} from '../schemas/rate.ts'

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
