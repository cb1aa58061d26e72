// The rate limiter's answers, with the engine's names (docs/rate-limits.md).

import { present } from '../../lambdas/foundation/shared/present.ts'
import type {
  DecideRateAnswer,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  VerifyTicketAnswer,
} from '../api-types.ts'
import type { Answered } from '../transport.ts'
import { ms, type View, viewOf } from '../view-of.ts'
import type { DenialBody } from './requests.ts'

/** By the service's clock. */
export type RateWindow = { readonly startMs: number; readonly endMs: number }

/** Go. */
export type Allowed = {
  readonly kind: 'allowed'
  /** Requests that may still go in the current window. */
  readonly remaining: number
  readonly window: RateWindow
  /** How long the call waited for its turn. */
  readonly waitedMs: number
}

/** The window is full; or, for a caller that can wait, the line is full. */
export type Denied = { readonly kind: 'denied'; readonly retryAfterMs: number }

/** A place in line: go at its turn, once. */
export type Promised = {
  readonly kind: 'promised'
  readonly ticket: string
  /** By the service's clock; it never moves. */
  readonly turn: { readonly notBeforeMs: number }
  /** From the answer to the turn. */
  readonly waitMs: number
  /** 1 means that nobody waits in front of it. */
  readonly position: number
}

export type RateDecision = Allowed | Denied | Promised

export type TicketState = {
  /** By the service's clock. */
  readonly turn: { readonly notBeforeMs: number; readonly goodUntilMs: number }
} & (
  | { readonly kind: 'waiting'; readonly retryAfterMs: number }
  /** Go, once. */
  | { readonly kind: 'ready' }
  /** Its time is over: if you did not go, ask again. */
  | { readonly kind: 'over' }
)

/** In every case, do not use the ticket any more. */
export type GivenUp =
  /** Another caller may have the place now. */
  | { readonly kind: 'given-up' }
  /** Others have been promised turns behind it, which do not move, so the place stays empty. */
  | { readonly kind: 'kept' }
  /** The turn has come. */
  | { readonly kind: 'too-late' }

export type RateSettings = View<RateConfigurationAnswer>

/** The settings that apply, whether they are the key's own or not. */
export type RateConfiguration = {
  readonly settings: RateSettings
  /** For `ifMatch`; `"0"` if the key has no settings of its own. */
  readonly etag?: string
}

export type RatePattern<S = RateSettings> = { readonly prefix: string; readonly settings: S }

export type RatePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly RatePattern[]
  /** For `ifMatch`. */
  readonly etag?: string
}

export type RateState = {
  readonly key: string
  readonly from: 'key' | 'pattern' | 'default'
  readonly settings: RateSettings
  readonly shards: readonly {
    readonly shard: number
    /** Its share of the limit. */
    readonly limit: number
    readonly remaining: number
    /** Places promised in later windows. */
    readonly waiting: number
    readonly window: RateWindow
    readonly lastTurnMs?: number
  }[]
}

export function decisionOf(body: DecideRateAnswer | DenialBody): RateDecision {
  if (body.allowed) {
    const { remaining, window, waited_ms: waitedMs } = body
    return { kind: 'allowed', remaining, window: viewOf(window), waitedMs }
  }
  if (body.ticket === undefined) return { kind: 'denied', retryAfterMs: body.retry_after_ms }
  const { ticket, not_before, retry_after_ms: waitMs, position } = body
  return { kind: 'promised', ticket, turn: { notBeforeMs: ms(not_before) }, waitMs, position }
}

export function ticketStateOf(body: VerifyTicketAnswer): TicketState {
  const { state: kind, retry_after_ms: retryAfterMs = 0, ...times } = body
  const turn = viewOf(times)
  return kind === 'waiting' ? { kind, turn, retryAfterMs } : { kind, turn }
}

export function givenUpOf(body: GiveUpTicketAnswer): GivenUp {
  if (body.given_up) return { kind: 'given-up' }
  return { kind: body.reason === 'too_late' ? 'too-late' : 'kept' }
}

export const rateConfigurationOf = ({
  body,
  etag,
}: Answered<RateConfigurationAnswer>): RateConfiguration =>
  present({ settings: viewOf(body), etag })

export function patternsOf({ body, etag }: Answered<RatePatternsAnswer>): RatePatterns {
  const patterns = body.patterns.map(({ prefix, ...settings }) => {
    return { prefix, settings: viewOf(settings) }
  })
  return present({ patterns, etag })
}

export const rateStateOf = ({ configuration, ...state }: RateStateAnswer): RateState => ({
  ...viewOf(state),
  settings: viewOf(configuration),
})
