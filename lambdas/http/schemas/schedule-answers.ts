// The answers of calls about schedules. As with `answers.ts`, no function loads this.

import * as v from 'valibot'
import { count, time } from './answer-fields.ts'
import { described } from './fields.ts'

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
