// What the rate limiter's calls answer with.

import * as v from 'valibot'
import { count, time } from './answer-fields.ts'

const rateWindow = v.strictObject({
  start: time('When it begins.'),
  end: time('When it is over.'),
})

export const rateAllowed = v.strictObject({
  allowed: v.literal(true),
  request_id: v.string(),
  remaining: count('Requests that may still go in the window that is now.'),
  window: v.pipe(rateWindow, v.description('The window that this request goes in.')),
  waited_ms: count('How long the call was held for its turn.'),
})

export const rateTicketed = v.strictObject({
  allowed: v.literal(false),
  request_id: v.string(),
  ticket: v.pipe(v.string(), v.description('Signed: go at `not_before`, once.')),
  not_before: time('When its turn comes; it never moves.'),
  position: count('In line; 1: nobody else waits before it.'),
  retry_after_ms: count('From now until `not_before`.'),
})

/** Of a limit without a line: a queue's as well. */
export const limitEntries = {
  max_requests: count('A window.'),
  window_millis: count('How long a window is.'),
  algorithm: v.picklist(['window', 'smooth'] as const),
  burst: count('Of `smooth`: at once, after a rest.'),
}

const rateSettings = {
  ...limitEntries,
  max_requests_in_queue: count('Promised beyond the window that is now.'),
  shards: count('Parts with an order and a share of the limit each.'),
  allow_overrides: v.boolean(),
}

export const rateConfiguration = v.strictObject(rateSettings)

export const rateState = v.strictObject({
  key: v.string(),
  from: v.pipe(
    v.picklist(['key', 'pattern', 'default'] as const),
    v.description('Where the configuration comes from: the first of these that there is.'),
  ),
  configuration: rateConfiguration,
  shards: v.array(
    v.strictObject({
      shard: count('Its number, from 0.'),
      limit: count('Its share of the limit.'),
      remaining: count('Requests that could go now.'),
      waiting: count('Places promised in windows to come.'),
      window: rateWindow,
      last_turn: v.nullable(time('When the last promised turn comes; `null` if nobody waits.')),
    }),
  ),
})

export const ratePatterns = v.strictObject({
  patterns: v.pipe(
    v.array(v.strictObject({ prefix: v.string(), ...rateSettings })),
    v.description('As they apply: the longest prefix first.'),
  ),
})

export const ticketState = v.strictObject({
  state: v.picklist(['waiting', 'ready', 'over'] as const),
  not_before: time('When its turn comes.'),
  good_until: time('When it is over.'),
  retry_after_ms: v.optional(count('While it waits: from now until `not_before`.')),
})

export const ticketGivenUp = v.union([
  v.pipe(
    v.strictObject({ given_up: v.literal(true) }),
    v.description('The place is another’s now.'),
  ),
  v.pipe(
    v.strictObject({
      given_up: v.literal(false),
      reason: v.picklist(['others_wait_behind', 'too_late'] as const),
    }),
    v.description('The place stays empty; the ticket must not be used all the same.'),
  ),
])
