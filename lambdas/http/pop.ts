// The call that pops: what it accepts, and its answer, with or without items.

import * as v from 'valibot'
import { ITEMS_PER_POP_MAX, WAIT_SECONDS_MAX } from '../../engine/core/limits.ts'
import type { PopOutcome, Queues } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import { countPopped } from '../runtime/log.ts'
import {
  type Answer,
  detailsText,
  itemTexts,
  ok,
  QueueLocked,
  retryAfter,
  secondsText,
} from './answer.ts'
import { type Call, endpoint } from './endpoint.ts'
import { lockErrors, type Pages, queueErrors } from './page.ts'
import * as answers from './schemas/answers.ts'
import { flag, integer, lockId, object, optional, ttlSeconds } from './schemas/fields.ts'

export const popCall = {
  headers: ['Idempotency-Key'],
  parametersAsHeaders: true,
  parameters: object({
    count: optional(integer(1, ITEMS_PER_POP_MAX), 'How many items at most. Default 1.'),
    require_ack: optional(flag(), 'Lock the items until they are acknowledged. Default false.'),
    ttl_seconds: v.optional(ttlSeconds()),
    allow_competing_consumers: optional(
      flag(),
      'Take free items beside live locks. Default false.',
    ),
    wait_seconds: optional(
      integer(1, WAIT_SECONDS_MAX),
      'If there is nothing to pop, wait for something for up to this many seconds. If too many calls wait already, the answer comes at once, with Retry-After.',
    ),
    acknowledge: optional(lockId(), 'A lock to acknowledge in the same write.'),
  }),
} as const satisfies Call

export const popEndpoints = (queues: Queues) => ({
  pop: endpoint(popCall, async ({ queue, parameters, header, tally, receivedMs }) => {
    const { count, require_ack: requireAck = false, ttl_seconds: ttlSeconds } = parameters
    const request = present({
      requireAck,
      competing: parameters.allow_competing_consumers ?? false,
      count,
      ttlSeconds,
      acknowledge: parameters.acknowledge,
      waitSeconds: parameters.wait_seconds,
      idempotencyKey: header('idempotency-key'),
      receivedMs,
    })
    const outcome = await queues.pop(queue, request)
    tally.heldMs = outcome.waitedMs ?? 0
    if (outcome.kind === 'locked') throw new QueueLocked(outcome.expiresAtMs, outcome.forRetry)
    countPopped(tally, outcome)
    tally.count('ItemsAcknowledged', outcome.itemsAcknowledged ?? 0)
    return outcome.kind === 'items' ? popped(outcome) : nothingPopped(outcome, requireAck)
  }),
})

type Items = Extract<PopOutcome, { kind: 'items' }>
type Empty = Extract<PopOutcome, { kind: 'empty' }>

/** Builds the answer as text, because an item is its text: parsing and printing could change it. */
function popped({ items, lock, more, itemsAcknowledged }: Items): Answer {
  let body = `{"items":${itemTexts(items)},"count":${items.length}`
  if (lock !== undefined) {
    body += `,"locked":true,"lock_id":"${lock.id}","lock_expires_at":${secondsText(lock.expiresAtMs)}`
    body += `,"ttl_seconds":${lock.ttlSeconds}`
  }
  body += `,"details":[${items.map(detailsText).join(',')}]`
  if (more) body += ',"more":true'
  if (itemsAcknowledged !== undefined) body += `,"items_acknowledged":${itemsAcknowledged}`
  return ok(`${body}}`)
}

/** Callers who wait come back at once. If we cannot let them wait, this keeps them from a busy loop. */
const NOT_HELD_MS = 3_000

function nothingPopped({ itemsAcknowledged, waitedMs, more }: Empty, requireAck: boolean): Answer {
  const headers = waitedMs === 0 ? { 'retry-after': retryAfter(NOT_HELD_MS) } : {}
  const body = {
    items: [],
    count: 0,
    ...(requireAck && { locked: false }),
    details: [],
    more,
    items_acknowledged: itemsAcknowledged,
  }
  return ok(body, headers)
}

export const popPages = (): Pages<keyof ReturnType<typeof popEndpoints>> => ({
  pop: {
    tag: 'Queue',
    summary: 'Pop the next items',
    description:
      'Priority 0 first, then 1, and so on; first in, first out within one. Without `require_ack` ' +
      'the items are gone; with it they are locked until acknowledged, and come back to the front ' +
      'if that does not happen in time. While a lock is live a pop answers 423, unless competing ' +
      'consumers are allowed. Parameters may also be sent as headers: `Require-Ack: true`.',
    answer: answers.popped,
    errors: [
      ...queueErrors,
      'SEGMENT_UNAVAILABLE',
      ...lockErrors,
      'INVALID_COUNT',
      'INVALID_TTL',
      'QUEUE_LOCKED',
      'TOO_MANY_LOCKS',
    ],
  },
})
