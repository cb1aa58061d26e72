import { QueueError } from '../../foundation/errors.ts'
import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  LOCK_TTL_SECONDS_MIN,
  WAIT_SECONDS_MAX,
} from './limits.ts'

export type PopRequest = {
  readonly count?: number | undefined
  readonly requireAck?: boolean | undefined
  readonly ttlSeconds?: number | undefined
  /** Takes free items beside live locks. Otherwise a live lock holds back the whole queue. */
  readonly competing?: boolean | undefined
  /** A lock to acknowledge in the same write. */
  readonly acknowledge?: string | undefined
  /** With `requireAck`: a pop repeated with this key while its lock lives gets the same items and lock again. */
  readonly idempotencyKey?: string | undefined
  /** The lock's id says that a consumer's run holds it: see `consumersAreGone`. */
  readonly forConsumer?: boolean | undefined
  /** If there is nothing to pop, waits this long for something: 1 to 20 seconds. */
  readonly waitSeconds?: number | undefined
  /** Ends the wait early; the pop answers as if its time were up. */
  readonly signal?: AbortSignal | undefined
  /** When the gateway received the call. A limit counts nothing by a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

export function checkPop(request: PopRequest): { count: number; ttlMs: number } {
  const { count = 1, ttlSeconds = LOCK_TTL_SECONDS_DEFAULT, waitSeconds } = request
  if (!Number.isInteger(count) || count < 1 || count > ITEMS_PER_POP_MAX) {
    throw new QueueError(
      'INVALID_COUNT',
      `count must be an integer from 1 to ${ITEMS_PER_POP_MAX}`,
      {
        field: 'count',
      },
    )
  }
  const isWait = (seconds: number) =>
    Number.isInteger(seconds) && seconds >= 1 && seconds <= WAIT_SECONDS_MAX
  if (waitSeconds !== undefined && !isWait(waitSeconds)) {
    throw new QueueError(
      'INVALID_PARAMETER',
      `wait_seconds must be an integer from 1 to ${WAIT_SECONDS_MAX}`,
      { field: 'wait_seconds' },
    )
  }
  if (request.idempotencyKey !== undefined) {
    checkIdempotencyKey(request.idempotencyKey)
    if (!request.requireAck) {
      throw new QueueError(
        'INVALID_PARAMETER',
        'Idempotency-Key on a pop needs require_ack: without a lock there is nothing to repeat',
        { field: 'Idempotency-Key' },
      )
    }
  }
  return { count, ttlMs: checkTtl(ttlSeconds) * 1000 }
}

/** Requires an integer and clamps it to the allowed lifetime of a lock. */
export function checkTtl(ttlSeconds: number): number {
  if (!Number.isInteger(ttlSeconds)) {
    throw new QueueError('INVALID_TTL', 'ttl_seconds must be an integer', { field: 'ttl_seconds' })
  }
  return Math.max(LOCK_TTL_SECONDS_MIN, Math.min(LOCK_TTL_SECONDS_MAX, ttlSeconds))
}

const keyForm = /^[\x20-\x7e]{1,128}$/

export function checkIdempotencyKey(key: string): void {
  if (keyForm.test(key)) return
  throw new QueueError(
    'INVALID_PARAMETER',
    'Idempotency-Key must be 1 to 128 printable ASCII characters',
    { field: 'Idempotency-Key' },
  )
}
