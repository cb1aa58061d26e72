import { ITEM_BYTES_MAX } from '../engine/core/limits.ts'
import { QueueError } from '../foundation/errors.ts'
import { type Answer, answer, seconds } from './answer.ts'
import { errorTable, type HttpErrorCode } from './error-table.ts'
import { QueueLocked } from './queue-locked.ts'
import { retryAfter } from './rate-headers.ts'
import { RequestError } from './request-error.ts'

/** The time is nearly up: nobody hears of the work under way, which goes on or is frozen with the process. */
export class OutOfTime extends Error {
  constructor() {
    super('The invocation ran out of time')
    this.name = 'OutOfTime'
  }
}

type ErrorAnswer = { readonly code: HttpErrorCode; readonly answer: Answer }

type Extra = Readonly<Record<string, unknown>>

/** The one shape of every error: what happened and what to do, and nothing of our internals. */
export function errorAnswer(error: unknown, requestId: string, changes: boolean): ErrorAnswer {
  if (error instanceof RequestError) {
    const { field, headers, limitBytes, retryable = false } = error.details
    const extra = { field, limit_bytes: limitBytes, ...error.details.extra }
    return refuse(error.code, error.message, retryable, requestId, extra, headers)
  }
  if (error instanceof QueueError) {
    const { code, message, retryable, field, outcome, retryAfterMs } = error
    const words = sourcesSay[code]
    const extra = {
      field,
      limit_bytes: code === 'ITEM_TOO_LARGE' ? ITEM_BYTES_MAX : undefined,
      outcome,
      retry_after_ms: retryAfterMs,
      hint: outcome === 'unknown' ? repeatSafely : words && message,
    }
    return refuse(code, words ?? message, retryable, requestId, extra, {
      ...(retryAfterMs !== undefined && { 'retry-after': retryAfter(retryAfterMs) }),
    })
  }
  if (error instanceof QueueLocked) {
    const { expiresAtMs, message } = error
    const extra = { lock_expires_at: seconds(expiresAtMs), hint: waitOrCompete }
    return refuse('QUEUE_LOCKED', message, true, requestId, extra, {
      'retry-after': retryAfter(expiresAtMs - Date.now()),
    })
  }
  if (error instanceof OutOfTime) {
    const extra = changes ? { outcome: 'unknown', hint: repeatSafely } : {}
    return refuse('STORE_UNAVAILABLE', tookTooLong, true, requestId, extra)
  }
  // Not retryable: a call that failed for an unknown reason may have had its effect, and would fail again.
  return refuse('INTERNAL', ours, false, requestId, {})
}

const ours = 'Something failed on our side; the request id tells us more'
const waitOrCompete = 'Try again after lock_expires_at, or pop with allow_competing_consumers=true'
const tookTooLong = 'The store took too long; try again in a moment'
const repeatSafely =
  'It may have happened. A push or pop with an Idempotency-Key can be repeated safely; any other may happen twice'

/** If PushPop's source documents print a sentence, we use that one; the engine's own becomes the hint. */
const sourcesSay: Partial<Record<HttpErrorCode, string>> = {
  LOCK_EXPIRED: 'Lock has expired',
  LOCK_NOT_FOUND: 'No active lock found',
  INVALID_LOCK_ID: 'Invalid lock_id',
}

/** `undefined` among the extras is left out of the answer. */
function refuse(
  code: HttpErrorCode,
  message: string,
  retryable: boolean,
  requestId: string,
  extra: Extra,
  headers: Readonly<Record<string, string>> = {},
): ErrorAnswer {
  const { status, retryAfter } = errorTable[code]
  const body = {
    success: false,
    error_code: code,
    message,
    retryable,
    request_id: requestId,
    ...extra,
  }
  return {
    code,
    answer: answer(status, body, {
      ...(retryable && retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      ...headers,
    }),
  }
}
