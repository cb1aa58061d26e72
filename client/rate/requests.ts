// The rate limiter's routes as HTTP calls, whose answers have the API's own names (views.ts has the engine's names).
// The command line prints these.

import { ID_RULE } from '../../lambdas/foundation/shared/queue-id.ts'
import type {
  ConfigureRateAnswer,
  ConfigureRatePatternsAnswer,
  DecideRateAnswer,
  DecideRateParameters,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  UnconfigureRateAnswer,
  VerifyTicketAnswer,
} from '../api-types.ts'
import { PushPopError } from '../errors.ts'
import type { CallOptions, MatchOptions } from '../queue.ts'
import { isSegment, matchOf, shown } from '../queue-calls.ts'
import type { Verb } from '../retry.ts'
import type { Answered, Call, Send } from '../transport.ts'

/** What only a 429 of the limiter says, not the gateway's own. */
export type DenialBody = {
  readonly allowed: false
  readonly ticket?: undefined
  readonly retry_after_ms: number
}

/** Named as the API's parameters. */
export type DecideRequest = {
  readonly [Name in keyof DecideRateParameters]: DecideRateParameters[Name] | undefined
}

/** The longest time for which a call that can wait may do so, as the service has it. */
const HELD_MS = 10_000

export function rateRequests(send: Send, key: string) {
  const path = pathOf(key)
  const config = `${path}/config`
  const ticketPath = (ticket: string) => `${path}/tickets/${ticketSegment(ticket)}`
  const get = <Body>(verb: Verb, path: string, options: CallOptions) =>
    ask<Body>(send, { verb, method: 'GET', path, signal: options.signal })
  return {
    decide: (
      query: DecideRequest,
      { repeatLost, ...options }: CallOptions & { readonly repeatLost: boolean },
    ) =>
      ask<DecideRateAnswer | DenialBody>(send, {
        verb: 'decideRate',
        method: 'POST',
        path,
        query,
        heldMs: query.canWait ? (query.maxWaitMs ?? HELD_MS) : 0,
        denialIsAnswer: true,
        isRepeatable: repeatLost,
        signal: options.signal,
      }),
    state: (options: CallOptions = {}) => get<RateStateAnswer>('rateState', path, options),
    verify: async (ticket: string, options: CallOptions = {}) =>
      get<VerifyTicketAnswer>('verifyTicket', ticketPath(ticket), options),
    giveUp: async (ticket: string, options: CallOptions = {}) =>
      ask<GiveUpTicketAnswer>(send, {
        verb: 'giveUpTicket',
        method: 'DELETE',
        path: ticketPath(ticket),
        signal: options.signal,
      }),
    configuration: (options: CallOptions = {}) =>
      get<RateConfigurationAnswer>('rateConfiguration', config, options),
    /** Its body as it stands: the service judges it. */
    configure: (body: object, options: MatchOptions = {}) =>
      ask<ConfigureRateAnswer>(send, {
        verb: 'configureRate',
        method: 'PUT',
        path: config,
        body: JSON.stringify(body),
        ...matchOf(options),
      }),
    unconfigure: (options: MatchOptions = {}) =>
      ask<UnconfigureRateAnswer>(send, {
        verb: 'unconfigureRate',
        method: 'DELETE',
        path: config,
        ...matchOf(options),
      }),
  }
}

export const patternRequests = (send: Send) => ({
  patterns: (options: CallOptions = {}) =>
    ask<RatePatternsAnswer>(send, {
      verb: 'ratePatterns',
      method: 'GET',
      path: '/rate-config',
      signal: options.signal,
    }),
  configurePatterns: (patterns: readonly unknown[], options: MatchOptions = {}) =>
    ask<ConfigureRatePatternsAnswer>(send, {
      verb: 'configureRatePatterns',
      method: 'PUT',
      path: '/rate-config',
      body: JSON.stringify({ patterns }),
      ...matchOf(options),
    }),
})

const ask = <Body>(send: Send, call: Call) => send(call) as Promise<Answered<Body>>

/** The service checks keys and tickets. We refuse only those that would not reach it. */
function pathOf(key: string): string {
  if (isSegment(key)) return `/rate/${encodeURIComponent(key)}`
  throw new PushPopError(
    'INVALID_PARAMETER',
    `A rate limit's key must be ${ID_RULE}, and this one is ${shown(key)}`,
    { field: 'key' },
  )
}

function ticketSegment(ticket: string): string {
  if (isSegment(ticket)) return encodeURIComponent(ticket)
  throw new PushPopError(
    'TICKET_NOT_FOUND',
    `A ticket of a rate limit is text, and this one is ${shown(ticket)}`,
  )
}
