// The rate limiter's answers as the API gives them.

import { seconds } from '../../lambdas/http/answer.ts'
import type { Patterns } from '../../lambdas/rate/core/patterns.ts'
import type { Turn } from '../../lambdas/rate/core/turn.ts'
import type { RateLimits, Settings } from '../../lambdas/rate/rate-limits.ts'

type Admitted = Exclude<
  Awaited<ReturnType<RateLimits['admit']>>,
  { readonly kind: 'override-refused' }
>
type State = Awaited<ReturnType<RateLimits['state']>>
type TicketState = Exclude<Awaited<ReturnType<RateLimits['verify']>>, { readonly kind: 'invalid' }>

export function decisionBody(key: string, decision: Admitted): object {
  switch (decision.kind) {
    case 'allowed': {
      const { remaining, window, waitedMs } = decision
      return { allowed: true, remaining, window: windowBody(window), waited_ms: waitedMs }
    }
    case 'denied': {
      const { full, retryAfterMs } = decision
      const why = full === 'line' ? 'the line of those who wait is full' : 'its window is full'
      return {
        success: false,
        error_code: 'RATE_LIMITED',
        message: `Rate limit "${key}" lets nobody go because ${why}; try again in ${retryAfterMs} ms`,
        retryable: true,
        allowed: false,
        retry_after_ms: retryAfterMs,
      }
    }
    case 'promised': {
      const { ticket, turn, position, waitMs } = decision
      return {
        allowed: false,
        ticket,
        not_before: seconds(turn.notBeforeMs),
        position,
        retry_after_ms: waitMs,
      }
    }
    default:
      return decision satisfies never
  }
}

export const stateBody = ({ key, settings, from, shards: rows }: State): object => ({
  key,
  from,
  configuration: settingsBody(settings),
  shards: rows.map(({ shard, limit, remaining, waiting, window, lastTurnMs }) => ({
    shard,
    limit,
    remaining,
    waiting,
    window: windowBody(window),
    last_turn: lastTurnMs === undefined ? null : seconds(lastTurnMs),
  })),
})

export const patternsBody = ({ patterns }: Patterns): object => ({
  patterns: patterns.map(({ prefix, settings }) => ({ prefix, ...settingsBody(settings) })),
})

export const ticketBody = (state: TicketState): object => ({
  state: state.kind,
  ...turnBody(state.turn),
  ...(state.kind === 'waiting' && { retry_after_ms: state.retryAfterMs }),
})

const turnBody = ({ notBeforeMs, goodUntilMs }: Turn) => ({
  not_before: seconds(notBeforeMs),
  good_until: seconds(goodUntilMs),
})

const windowBody = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }) => ({
  start: seconds(startMs),
  end: seconds(endMs),
})

export const settingsBody = (settings: Settings) => ({
  max_requests: settings.maxRequests,
  max_requests_in_queue: settings.maxRequestsInQueue,
  window_millis: settings.windowMillis,
  algorithm: settings.algorithm,
  burst: settings.burst,
  shards: settings.shards,
  allow_overrides: settings.allowOverrides,
})
