// The answers of every call. No function loads this: we make the OpenAPI page from it, and the tests compare every
// answer with it.

import * as v from 'valibot'
import { errorTable, type HttpErrorCode } from '../answer.ts'
import { count, described, items as itemsField, time } from './fields.ts'
import { toldEntries } from './item.ts'
import { configurationAnswers, sourceAnswer } from './settings.ts'

const success = v.literal(true)
const id = () =>
  described(v.string(), 'Opaque; the same at push, peek and pop, but for an item for later.')
const lockId = () =>
  described(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{11}$/)), '8 random bytes, URL-safe.')

export const pushed = v.strictObject({
  success,
  items_pushed: count('How many items.'),
  ids: described(
    v.array(id()),
    'In the order of the request. Empty when a repeated push comes so late that its items are gone.',
  ),
})

export const accepted = v.strictObject({
  success,
  accepted: count('How many items.'),
  message_id: described(v.string(), 'Names the message in the inbox, for your logs.'),
})

const detailEntries = toldEntries()
export const itemDetails = v.strictObject(detailEntries)
const items = itemsField()

const popEntries = {
  items,
  count: count('How many items.'),
  details: described(v.array(itemDetails), '`details[i]` belongs to `items[i]`.'),
  more: v.optional(
    described(
      v.literal(true),
      'There is more: the answer was full before `count` was reached, the pop passed over so many expired items that it stopped, or others were faster than it after it had acknowledged.',
    ),
  ),
  items_acknowledged: v.optional(count('How many items the lock had that `acknowledge` named.')),
}

export const poppedItems = v.strictObject(popEntries)

export const popped = v.union([
  described(poppedItems, 'Without `require_ack`.'),
  described(
    v.strictObject({
      ...popEntries,
      locked: v.literal(true),
      lock_id: lockId(),
      lock_expires_at: time('When the items come back by themselves.'),
      ttl_seconds: count('The value used.'),
    }),
    'With `require_ack`.',
  ),
  described(
    v.strictObject({ ...popEntries, locked: v.literal(false) }),
    'With `require_ack`, if there was nothing to pop.',
  ),
])

const acknowledgedOne = v.strictObject({
  success,
  message: v.string(),
  items_acknowledged: count('How many items.'),
})

const lockResult = v.union([
  v.strictObject({ lock_id: v.string(), success, items_acknowledged: count('How many items.') }),
  v.strictObject({
    lock_id: v.string(),
    success: v.literal(false),
    error_code: v.picklist([
      'LOCK_NOT_FOUND',
      'LOCK_EXPIRED',
      'INVALID_LOCK_ID',
      'STORE_UNAVAILABLE',
    ]),
    message: v.string(),
    retryable: v.boolean(),
  }),
])

export const acknowledged = v.union([
  described(acknowledgedOne, 'For `lock_id`.'),
  described(
    v.strictObject({
      success: described(v.boolean(), 'Whether every lock was acknowledged.'),
      message: v.string(),
      items_acknowledged: count('Over all locks.'),
      results: described(v.array(lockResult), 'In the order of `lock_ids`.'),
    }),
    'For `lock_ids`.',
  ),
])

export const extended = v.strictObject({
  success,
  lock_id: lockId(),
  lock_expires_at: time('The new expiry.'),
  ttl_seconds: count('The value used.'),
})

export const released = v.strictObject({ success, items_released: count('How many items.') })

export const deadLettered = v.strictObject({
  success,
  items_dead_lettered: count('How many items.'),
  dead_letter_queue: v.string(),
})

export const configuration = v.strictObject({
  ...configurationAnswers(),
  source: sourceAnswer(),
})

export const queuePatterns = v.strictObject({
  patterns: described(
    v.array(v.strictObject({ prefix: v.string(), ...configurationAnswers() })),
    'In the order in which they apply: the longest prefix first.',
  ),
})

const segment = (description: string) =>
  described(v.nullable(v.pipe(v.number(), v.integer())), description)

const places = ['record', 'rows', 'batch-rows', 'batch-s3', 's3', 'recalled'] as const

const stretch = v.strictObject({
  from: count('Its first number.'),
  to: count('The number after its last.'),
  in: described(
    v.picklist(places),
    '`record`: in the queue’s record. `rows`: in rows of the table. `batch-rows`, `batch-s3`: where the bulk push that brought it put it. `s3`: in a segment that was offloaded. `recalled`: in such a segment, and in rows again.',
  ),
})

/** One priority of a queue. */
const laneState = v.strictObject({
  priority: count('0 is served first.'),
  count: count('Items of this priority.'),
  head_segment: count('Where the next item is.'),
  tail_segment: count('Where the last item is.'),
  head_offloaded_segment: segment(
    'The first of the longest stretch of whole segments in the middle that lies in S3, however it came there; `null` if none does.',
  ),
  tail_offloaded_segment: segment('The last of that stretch; `null` if there is none.'),
  epoch: described(v.string(), 'Random; a priority that is dropped and comes back has another.'),
  segment_size: count('Items in a segment of this priority.'),
  head: count('The lowest number not settled. Items are numbered from 0 in the order of pushes.'),
  frontier: count('The lowest number never handed out.'),
  sealed: count('From this number on, the items or references to them are in the queue’s record.'),
  end: count('The number that the next item gets.'),
  stored: described(
    v.array(stretch),
    'Where the numbers from head to end lie: 200 stretches at most, in order, neighbours joined, as far as the record knows.',
  ),
})

export const queueState = v.strictObject({
  id: v.string(),
  version: count('Rises whenever the structure of the queue changes.'),
  count: count('Items stored and not settled, including locked and waiting ones.'),
  locked_count: count('Items in live locks.'),
  waiting_count: count('Items released with a delay that is not yet over.'),
  blocked_until: v.optional(
    time('Until when these keep back the others from pops that do not compete, if they do.'),
  ),
  dead_count: count('Items on their way to `{id}-deadletter`, for a moment; not in `count`.'),
  scheduled_count: count('Items for later; not in `count`.'),
  next_due_at: v.optional(
    time(
      'When the first of them is due; absent if there are none. If that is long past, the queue has no room for it.',
    ),
  ),
  oldest_pushed_at: v.optional(
    v.nullable(
      time(
        'When the oldest item was pushed; null if none waits. Left out if that takes more than one read, unless oldest=true.',
      ),
    ),
  ),
  priorities: v.array(laneState),
  locks: described(
    v.array(
      v.strictObject({
        lock_expires_at: time('When its items come back.'),
        count: count('Its items.'),
        priorities: v.array(v.number()),
      }),
    ),
    'Live locks, without their ids.',
  ),
  configuration,
})

export const page = v.strictObject({
  items,
  count: count('How many items.'),
  details: v.array(
    v.strictObject({
      ...detailEntries,
      state: v.picklist(['ready', 'locked', 'waiting', 'expired'] as const),
      retry_at: v.optional(time('For a waiting item: when it comes back.')),
    }),
  ),
  cursor: v.optional(described(v.string(), 'For the next page; absent on the last.')),
})

export const purged = v.strictObject({ success, items_purged: count('How many items.') })

export const redriven = v.strictObject({
  success,
  items_redriven: count('How many items.'),
  items_left: count('Items locked, pushed by hand, beyond `limit`, or not in `ids`.'),
})

export const queueList = v.strictObject({
  queues: v.array(
    v.strictObject({
      id: v.string(),
      count: v.optional(
        count('Its items; absent if the record of the queue could not be read just now.'),
      ),
      locked_count: v.optional(count('Items in live locks. From here on, only with `detail`.')),
      waiting_count: v.optional(count('Items released with a delay that is not yet over.')),
      blocked_until: v.optional(
        time('Until when these keep back the others from pops that do not compete, if they do.'),
      ),
      dead_count: v.optional(count('Items on their way to `{id}-deadletter`, for a moment.')),
      scheduled_count: v.optional(count('Items for later; not in `count`.')),
      priorities: v.optional(
        described(
          v.array(
            v.strictObject({
              priority: count('0 is served first.'),
              count: count('Items of this priority.'),
            }),
          ),
          'The priorities that have items.',
        ),
      ),
    }),
  ),
  cursor: v.optional(described(v.string(), 'For the next page; absent on the last.')),
})

export const healthy = v.strictObject({ status: v.literal('ok') })

const errorCodes = Object.keys(errorTable) as [HttpErrorCode, ...HttpErrorCode[]]

export const error = v.strictObject({
  success: v.literal(false),
  error_code: v.picklist(errorCodes),
  message: described(v.string(), 'What to do; it names the field that is wrong.'),
  retryable: described(v.boolean(), 'Whether the same request may succeed later.'),
  request_id: v.string(),
  field: v.optional(described(v.string(), 'The field, parameter or header.')),
  limit_bytes: v.optional(count('With 413.')),
  lock_expires_at: v.optional(time('With 423.')),
  outcome: v.optional(described(v.literal('unknown'), 'The change may have been made anyway.')),
  allowed: v.optional(described(v.literal(false), 'With `RATE_LIMITED`, of a rate limit’s key.')),
  retry_after_ms: v.optional(count('With `RATE_LIMITED`.')),
  hint: v.optional(described(v.string(), 'More on what happened, and on what to do.')),
})

const itemResult = (results: readonly [string, ...string[]]) =>
  v.strictObject({
    id: described(v.string(), 'As it was sent.'),
    result: described(
      v.picklist(results),
      '`gone`: popped, settled, dead, moved, or never there; for a scheduled item also: it has joined its queue, where it has another id.',
    ),
  })

export const cancelled = v.strictObject({
  results: described(
    v.array(itemResult(['cancelled', 'locked', 'gone'])),
    'In the order of `ids`.',
  ),
})

export const moved = v.strictObject({
  results: described(
    v.array(
      v.union([
        v.strictObject({
          id: described(v.string(), 'As it was sent.'),
          result: v.literal('moved'),
          new_id: v.optional(
            described(
              v.string(),
              'Its id from now on; left out if a consumer took it before we could look up its new place.',
            ),
          ),
        }),
        itemResult(['locked', 'gone']),
      ]),
    ),
    'In the order of `ids`.',
  ),
})
