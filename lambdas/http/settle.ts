// The calls about one lock: acknowledge, extend, release, dead-letter; and the one that acknowledges many.

import * as v from 'valibot'
import {
  LOCKS_PER_CALL_MAX,
  REASON_CHARACTERS_MAX,
  RELEASE_DELAY_SECONDS_MAX,
} from '../../engine/core/limits.ts'
import type { AcknowledgeResult, Queues, SettleRequest } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import { type Answer, ok, seconds } from './answer.ts'
import { type Call, endpoint } from './endpoint.ts'
import { lockErrors, type Pages, queueErrors } from './page.ts'
import { SMALL_BODY_BYTES_MAX } from './read-request.ts'
import * as answers from './schemas/answers.ts'
import {
  described,
  flag,
  integer,
  list,
  lockedItemIds,
  lockId,
  object,
  optional,
  text,
  ttlSeconds,
} from './schemas/fields.ts'

const oneLock = object({ lock_id: lockId(), ids: v.optional(lockedItemIds()) })
const small = { kind: 'required', bytesMax: SMALL_BODY_BYTES_MAX } as const

export const acknowledgeCall = {
  body: {
    ...small,
    schema: oneLock,
    or: {
      field: 'lock_ids',
      schema: object({
        lock_ids: described(
          list(lockId(), 1, LOCKS_PER_CALL_MAX, 'lock ids'),
          'Each lock is settled independently, and has its own result.',
        ),
      }),
    },
    mediaTypes: 'json-or-curl',
  },
} as const satisfies Call

export const extendLockCall = {
  body: { ...small, schema: object({ lock_id: lockId(), ttl_seconds: ttlSeconds() }) },
} as const satisfies Call

export const releaseCall = {
  body: {
    ...small,
    schema: object({
      lock_id: lockId(),
      ids: v.optional(lockedItemIds()),
      delay_seconds: optional(
        integer(0, RELEASE_DELAY_SECONDS_MAX),
        'How long the items wait before they come back. In an exclusive queue, the others wait with them. Default 0.',
      ),
      overtake: optional(
        flag(),
        'The others do not wait: until then, pops pass these items. Default false.',
      ),
    }),
  },
} as const satisfies Call

export const deadLetterCall = {
  body: {
    ...small,
    schema: object({
      lock_id: lockId(),
      ids: v.optional(lockedItemIds()),
      reason: optional(text(0, REASON_CHARACTERS_MAX), 'Kept with the items.'),
    }),
  },
} as const satisfies Call

export const settleEndpoints = (queues: Queues) => ({
  acknowledge: endpoint(acknowledgeCall, async ({ queue, body, tally }) => {
    if ('lock_ids' in body) {
      const results = await queues.acknowledgeMany(queue, body.lock_ids)
      tally.count('ItemsAcknowledged', acknowledgedBy(results))
      return acknowledgedMany(results)
    }
    const { itemsAcknowledged } = await queues.acknowledge(queue, lockOf(body))
    tally.count('ItemsAcknowledged', itemsAcknowledged)
    return ok({
      success: true,
      message: 'Items acknowledged successfully',
      items_acknowledged: itemsAcknowledged,
    })
  }),

  extendLock: endpoint(extendLockCall, async ({ queue, body }) => {
    const extended = await queues.extend(queue, {
      lockId: body.lock_id,
      ttlSeconds: body.ttl_seconds,
    })
    return ok({
      success: true,
      lock_id: extended.lockId,
      lock_expires_at: seconds(extended.expiresAtMs),
      ttl_seconds: extended.ttlSeconds,
    })
  }),

  release: endpoint(releaseCall, async ({ queue, body, tally }) => {
    const { delay_seconds: delaySeconds, overtake } = body
    const request = { ...lockOf(body), ...present({ delaySeconds, overtake }) }
    const { itemsReleased } = await queues.release(queue, request)
    tally.count('ItemsReturned', itemsReleased)
    return ok({ success: true, items_released: itemsReleased })
  }),

  deadLetter: endpoint(deadLetterCall, async ({ queue, body, tally }) => {
    const { reason } = body
    const request = { ...lockOf(body), ...present({ reason }) }
    const { itemsDeadLettered, deadLetterQueue } = await queues.deadLetter(queue, request)
    tally.count('ItemsDeadLettered', itemsDeadLettered)
    return ok({
      success: true,
      items_dead_lettered: itemsDeadLettered,
      dead_letter_queue: deadLetterQueue,
    })
  }),
})

type LockBody = { readonly lock_id: string; readonly ids?: readonly string[] | undefined }

const lockOf = ({ lock_id: lockId, ids }: LockBody): SettleRequest => present({ lockId, ids })

const acknowledgedBy = (results: readonly AcknowledgeResult[]): number =>
  results.reduce((n, it) => n + (it.kind === 'acknowledged' ? it.itemsAcknowledged : 0), 0)

/** `success` only if all locks were acknowledged: a caller that checks nothing else must not miss a failure. */
function acknowledgedMany(results: readonly AcknowledgeResult[]): Answer {
  const refused = results.filter(({ kind }) => kind === 'refused').length
  return ok({
    success: refused === 0,
    message:
      refused === 0
        ? 'Items acknowledged successfully'
        : `${refused} of ${results.length} locks could not be acknowledged; see results`,
    items_acknowledged: acknowledgedBy(results),
    results: results.map(resultOf),
  })
}

const resultOf = (result: AcknowledgeResult) =>
  result.kind === 'acknowledged'
    ? { lock_id: result.lockId, success: true, items_acknowledged: result.itemsAcknowledged }
    : {
        lock_id: result.lockId,
        success: false,
        error_code: result.code,
        message: result.message,
        retryable: result.code === 'STORE_UNAVAILABLE',
      }

export const settlePages = (): Pages<keyof ReturnType<typeof settleEndpoints>> => ({
  acknowledge: {
    tag: 'Locks',
    summary: 'Acknowledge a lock, some of it, or many locks',
    description:
      'Settles the items for good. If you repeat it after a lost answer, it gets that answer again. ' +
      'With `lock_ids` each lock has its own result, and the status is 200 whatever they are. ' +
      'A JSON body under curl’s default `Content-Type: application/x-www-form-urlencoded` is taken ' +
      'here as well.',
    answer: answers.acknowledged,
    errors: [...queueErrors, ...lockErrors],
  },
  extendLock: {
    tag: 'Locks',
    summary: 'Give a lock more time',
    description: 'Its expiry becomes now + `ttl_seconds`: sooner or later than it was.',
    answer: answers.extended,
    errors: [...queueErrors, ...lockErrors, 'INVALID_TTL'],
  },
  release: {
    tag: 'Locks',
    summary: 'Give items back, at once or later',
    description:
      'To the front, in their order, at their priority, with `deliveries` one higher. With `delay_seconds` ' +
      'they come back then: until that time no pop returns them, and `GET …/items` shows them as `waiting` ' +
      'with `retry_at`. In an exclusive queue the others wait behind them (423, with `lock_expires_at`), ' +
      'unless `overtake` is true; competing consumers never wait. An item that has been delivered as often ' +
      'as `max_deliveries` allows does not wait: it goes to the dead-letter queue at once.',
    answer: answers.released,
    errors: [...queueErrors, ...lockErrors],
  },
  deadLetter: {
    tag: 'Locks',
    summary: 'Move items to the dead-letter queue',
    description: 'To `{id}-deadletter`, priority kept.',
    answer: answers.deadLettered,
    errors: [...queueErrors, ...lockErrors, 'SEGMENT_UNAVAILABLE'],
  },
})
