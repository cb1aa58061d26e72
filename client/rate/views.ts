// What the rate limiter answers, in the words of the engine (docs/rate-limits.md).

import type {
  ConfigureRateBody,
  DecideRateAnswer,
  GiveUpTicketAnswer,
  RateConfigurationAnswer,
  RatePatternsAnswer,
  RateStateAnswer,
  VerifyTicketAnswer,
} from '../api-types.ts'
import type { Answered } from '../transport.ts'
import { ms } from '../views.ts'
import type { DenialBody } from './requests.ts'

/** By the service's clock. */
export type RateWindow = { readonly startMs: number; readonly endMs: number }

/** Go. */
export type Allowed = {
  readonly kind: 'allowed'
  /** What may still go in the window that is now. */
  readonly remaining: number
  readonly window: RateWindow
  /** How long the call was held for its turn. */
  readonly waitedMs: number
}

/** The window is full; for who can wait, the line. */
export type Denied = { readonly kind: 'denied'; readonly retryAfterMs: number }

/** A place in line: go at its turn, once. */
export type Promised = {
  readonly kind: 'promised'
  readonly ticket: string
  /** By the service's clock; it never moves. */
  readonly turn: { readonly notBeforeMs: number }
  /** From the answer to the turn. */
  readonly waitMs: number
  /** 1: nobody else waits before it. */
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
  /** Its time is over: whoever did not go asks again. */
  | { readonly kind: 'over' }
)

/** Whatever it is, the ticket must not be used any more. */
export type GivenUp =
  /** The place is another's now. */
  | { readonly kind: 'given-up' }
  /** Others were promised turns behind it, which do not move: the place stays empty. */
  | { readonly kind: 'kept' }
  /** The turn has come. */
  | { readonly kind: 'too-late' }

export type RateSettings = {
  readonly maxRequests: number
  readonly maxRequestsInQueue: number
  readonly windowMillis: number
  readonly algorithm: 'window' | 'smooth'
  /** Of `smooth`: requests that may go at once after a rest. */
  readonly burst: number
  readonly shards: number
  /** Whether a call may bring a limit of its own. */
  readonly allowOverrides: boolean
}

/** The settings that apply, whether they are the key's own or not. */
export type RateConfiguration = {
  readonly settings: RateSettings
  /** For `ifMatch`; `"0"` where the key has none of its own. */
  readonly etag?: string
}

export type RatePattern<S = RateSettings> = { readonly prefix: string; readonly settings: S }

export type RatePatterns = {
  /** As they apply: the longest prefix first. */
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
    /** Places promised in windows to come. */
    readonly waiting: number
    readonly window: RateWindow
    readonly lastTurnMs?: number
  }[]
}

export function decisionOf(body: DecideRateAnswer | DenialBody): RateDecision {
  if (body.allowed) {
    const { remaining, window, waited_ms: waitedMs } = body
    return { kind: 'allowed', remaining, window: windowOf(window), waitedMs }
  }
  if (body.ticket === undefined) return { kind: 'denied', retryAfterMs: body.retry_after_ms }
  const { ticket, not_before, retry_after_ms: waitMs, position } = body
  return { kind: 'promised', ticket, turn: { notBeforeMs: ms(not_before) }, waitMs, position }
}

export function ticketStateOf(body: VerifyTicketAnswer): TicketState {
  const { state: kind, not_before, good_until, retry_after_ms: retryAfterMs = 0 } = body
  const turn = { notBeforeMs: ms(not_before), goodUntilMs: ms(good_until) }
  return kind === 'waiting' ? { kind, turn, retryAfterMs } : { kind, turn }
}

export function givenUpOf(body: GiveUpTicketAnswer): GivenUp {
  if (body.given_up) return { kind: 'given-up' }
  return { kind: body.reason === 'too_late' ? 'too-late' : 'kept' }
}

export const settingsOf = (body: RateConfigurationAnswer): RateSettings => ({
  maxRequests: body.max_requests,
  maxRequestsInQueue: body.max_requests_in_queue,
  windowMillis: body.window_millis,
  algorithm: body.algorithm,
  burst: body.burst,
  shards: body.shards,
  allowOverrides: body.allow_overrides,
})

export const settingsBodyOf = (settings: Partial<RateSettings>): ConfigureRateBody => ({
  ...(settings.maxRequests !== undefined && { max_requests: settings.maxRequests }),
  ...(settings.maxRequestsInQueue !== undefined && {
    max_requests_in_queue: settings.maxRequestsInQueue,
  }),
  ...(settings.windowMillis !== undefined && { window_millis: settings.windowMillis }),
  ...(settings.algorithm !== undefined && { algorithm: settings.algorithm }),
  ...(settings.burst !== undefined && { burst: settings.burst }),
  ...(settings.shards !== undefined && { shards: settings.shards }),
  ...(settings.allowOverrides !== undefined && { allow_overrides: settings.allowOverrides }),
})

export const rateConfigurationOf = ({
  body,
  etag,
}: Answered<RateConfigurationAnswer>): RateConfiguration => ({
  settings: settingsOf(body),
  ...(etag !== undefined && { etag }),
})

export const patternsOf = ({ body, etag }: Answered<RatePatternsAnswer>): RatePatterns => ({
  patterns: body.patterns.map(({ prefix, ...settings }) => ({
    prefix,
    settings: settingsOf(settings),
  })),
  ...(etag !== undefined && { etag }),
})

export const rateStateOf = ({ key, from, configuration, shards }: RateStateAnswer): RateState => ({
  key,
  from,
  settings: settingsOf(configuration),
  shards: shards.map(({ last_turn, window, ...shard }) => ({
    ...shard,
    window: windowOf(window),
    ...(last_turn !== null && { lastTurnMs: ms(last_turn) }),
  })),
})

const windowOf = ({
  start,
  end,
}: {
  readonly start: number
  readonly end: number
}): RateWindow => ({
  startMs: ms(start),
  endMs: ms(end),
})
