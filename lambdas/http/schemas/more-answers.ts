// The answers of calls about scheduled items, rate limits and schedules. As with `answers.ts`, no function loads this.

import * as v from 'valibot'
import { count, described, items, time } from './fields.ts'
import { toldEntries } from './item.ts'
import { settingAnswers } from './settings.ts'

export const scheduledPage = v.strictObject({
  items: items(),
  count: count('How many items.'),
  details: described(
    v.array(
      v.strictObject({
        id: described(v.string(), 'The id that its push returned.'),
        priority: count('0 is served first.'),
        pushed_at: time('When it was pushed.'),
        due_at: time('When it joins its queue.'),
        ...toldEntries({ isLater: true }),
      }),
    ),
    '`details[i]` belongs to `items[i]`.',
  ),
  cursor: v.optional(described(v.string(), 'For the next page; absent on the last.')),
})

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

const scheduleEntries = {
  name: v.string(),
  cron: v.optional(v.string()),
  time_zone: v.optional(described(v.string(), 'Of `cron`.')),
  every_seconds: v.optional(count('The interval.')),
  priority: count('0 is served first.'),
  starts_at: v.optional(time('Not due before.')),
  ends_at: v.optional(time('Not due after.')),
  missed: v.picklist(['skip', 'one', 'all']),
  paused: v.boolean(),
  next_at: v.optional(
    time(
      'When it is due next, or was due if the occurrence waits. Absent while it is paused, and once it has ended.',
    ),
  ),
  last_at: v.optional(time('When the last occurrence that was pushed was due.')),
  waiting: v.optional(
    described(
      v.picklist(['queue_full', 'refused']),
      'The occurrence that is due waits, because the queue had no room for it or refused it.',
    ),
  ),
  deployed: v.optional(
    described(
      v.literal(true),
      'A deployment has put it (`PushPopSchedule`), and no call has replaced it since.',
    ),
  ),
  refused: v.optional(described(v.string(), 'Why the queue refused it.')),
  etag: described(v.string(), 'For `If-Match`; the same as the header `ETag`.'),
}

export const scheduleChanged = v.strictObject(scheduleEntries)
export const schedule = v.strictObject({
  ...scheduleEntries,
  item: described(v.any(), 'What is pushed, byte for byte.'),
})
export const schedules = v.strictObject({
  schedules: described(v.array(scheduleChanged), 'By name, without their items.'),
})
export const scheduleDeleted = v.strictObject({
  success: v.literal(true),
  deleted: described(v.boolean(), 'Whether there was one.'),
})
