import type {
  Admission,
  Patterns,
  RateState,
  Settings,
  SettingsInput,
  TicketState,
} from '../rate/rate-limits.ts'
import { seconds } from './answer.ts'

// The rate limiter's answers as the API tells them; the command line tells them alike.

export const allowedBody = ({
  remaining,
  window,
  waitedMs,
}: Extract<Admission, { kind: 'allowed' }>) => ({
  remaining,
  window: windowBody(window),
  waited_ms: waitedMs,
})

export const promisedBody = ({
  ticket,
  turn,
  position,
  waitMs,
}: Extract<Admission, { kind: 'promised' }>) => ({
  ticket,
  not_before: seconds(turn.notBeforeMs),
  position,
  retry_after_ms: waitMs,
})

export const rateStateBody = ({ key, from, settings, shards: rows }: RateState) => ({
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

export const patternsBody = ({ patterns }: Patterns) => ({
  patterns: patterns.map(({ prefix, settings }) => ({ prefix, ...settingsBody(settings) })),
})

export const ticketBody = (state: Exclude<TicketState, { kind: 'invalid' }>) => ({
  state: state.kind,
  not_before: seconds(state.turn.notBeforeMs),
  good_until: seconds(state.turn.goodUntilMs),
  ...(state.kind === 'waiting' && { retry_after_ms: state.retryAfterMs }),
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

type SettingsBody = { readonly [Name in keyof ReturnType<typeof settingsBody>]?: unknown }

export const settingsInput = (body: SettingsBody): SettingsInput =>
  ({
    maxRequests: body.max_requests,
    maxRequestsInQueue: body.max_requests_in_queue,
    windowMillis: body.window_millis,
    algorithm: body.algorithm,
    burst: body.burst,
    shards: body.shards,
    allowOverrides: body.allow_overrides,
  }) as SettingsInput
