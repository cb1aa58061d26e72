// The rate limiter's answers over HTTP; the command line gives the same ones.

import type {
  Admission,
  AppliedSettings,
  GivenUp,
  Patterns,
  RateState,
  TicketState,
} from '../../rate/rate-limits.ts'
import { snakeCased } from '../../shared/wire.ts'
import { seconds } from './answer.ts'

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
  configuration: snakeCased(settings),
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
  patterns: patterns.map(({ prefix, settings }) => ({ prefix, ...snakeCased(settings) })),
})

export const ticketBody = (state: Exclude<TicketState, { kind: 'invalid' }>) => ({
  state: state.kind,
  not_before: seconds(state.turn.notBeforeMs),
  good_until: seconds(state.turn.goodUntilMs),
  ...(state.kind === 'waiting' && { retry_after_ms: state.retryAfterMs }),
})

export const givenUpBody = ({ kind }: Exclude<GivenUp, { kind: 'invalid' }>) => {
  switch (kind) {
    case 'given-up':
      return { given_up: true }
    case 'kept':
      return { given_up: false, reason: 'others_wait_behind' }
    case 'too-late':
      return { given_up: false, reason: 'too_late' }
    default:
      return kind satisfies never
  }
}

/** The revision of the key's own configuration, 0 where it has none: an `ETag` and `If-Match` name it. */
export const ownRevision = ({ from, revision }: AppliedSettings): number =>
  from === 'key' ? revision : 0

const windowBody = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }) => ({
  start: seconds(startMs),
  end: seconds(endMs),
})
