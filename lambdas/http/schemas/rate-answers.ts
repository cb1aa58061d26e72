// The answers of the rate limiter's calls.

import * as v from 'valibot'
import { count, time } from './answer-fields.ts'
import { described } from './fields.ts'
import { settingAnswers } from './settings.ts'

export const rateWindow = v.strictObject({
  start: time('When it begins.'),
  end: time('When it is over.'),
})

export const rateAllowed = v.strictObject({
  allowed: v.literal(true),
  request_id: v.string(),
  remaining: count('Requests that may still go in the current window.'),
  window: described(rateWindow, 'The window in which this request goes.'),
  waited_ms: count('How long the call waited for its turn.'),
})

export const rateTicketed = v.strictObject({
  allowed: v.literal(false),
  request_id: v.string(),
  ticket: described(v.string(), 'Signed: go at `not_before`, once.'),
  not_before: time('When its turn comes; it never moves.'),
  position: count('In line; 1: nobody else waits before it.'),
  retry_after_ms: count('From now until `not_before`.'),
})

const rateSettings = settingAnswers()

export const rateConfiguration = v.strictObject(rateSettings)

export const rateState = v.strictObject({
  key: v.string(),
  from: described(
    v.picklist(['key', 'pattern', 'default'] as const),
    'Where the configuration comes from: the first of these that exists.',
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
  patterns: described(
    v.array(v.strictObject({ prefix: v.string(), ...rateSettings })),
    'In the order in which they apply: the longest prefix first.',
  ),
})

export const ticketState = v.strictObject({
  state: v.picklist(['waiting', 'ready', 'over'] as const),
  not_before: time('When its turn comes.'),
  good_until: time('When it is over.'),
  retry_after_ms: v.optional(count('While it waits: from now until `not_before`.')),
})

export const ticketGivenUp = v.union([
  described(
    v.strictObject({ given_up: v.literal(true) }),
    'Another request may have the place now.',
  ),
  described(
    v.strictObject({
      given_up: v.literal(false),
      reason: v.picklist(['others_wait_behind', 'too_late'] as const),
    }),
    'The place stays empty; even so, the ticket must not be used.',
  ),
])
