// Every error of the client: the service's own, the gateway's, and those of this side of the wire. What counts is
// whether something may have changed, and whether another try may help.

import { type LostLockCode, lostLockCodes } from '../shared/hold-lock.ts'
import type { ErrorBody, ErrorCode as ServiceErrorCode } from './api-types.ts'

/** Codes for the gateway's own errors, and for failures on this side of the wire. */
export type ClientErrorCode =
  /** 401: no signature or token, or an invalid one. */
  | 'UNAUTHORIZED'
  /** 403: the caller is known, but not allowed to do this. */
  | 'FORBIDDEN'
  /** No answer came: no connection, or one that broke. */
  | 'NETWORK_ERROR'
  /** No answer came in `timeoutMs`. */
  | 'TIMEOUT'
  /** The caller's signal came. */
  | 'ABORTED'
  /** An answer that is not PushPop's: the gateway's own 5xx, a proxy's page, half a body. */
  | 'UNEXPECTED_ANSWER'
  /** The item to push is not JSON: `undefined`, a function, a cycle. */
  | 'NOT_JSON'

export type { ServiceErrorCode }
export type ErrorCode = ServiceErrorCode | ClientErrorCode

export type ErrorDetails = {
  /** The HTTP status; absent if there was no answer. */
  readonly status?: number | undefined
  readonly retryable?: boolean
  /** `unknown`: the change may have been made anyway, or may still be. */
  readonly outcome?: 'unknown' | undefined
  readonly requestId?: string | undefined
  readonly field?: string | undefined
  readonly hint?: string | undefined
  readonly limitBytes?: number | undefined
  /** With `QUEUE_LOCKED`: when the lock ends unless it is extended. */
  readonly lockExpiresAtMs?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** Every error of this client. Unless `outcome` is `'unknown'`, nothing was changed. */
export class PushPopError extends Error {
  readonly code: ErrorCode
  readonly status: number | undefined
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  readonly outcome: 'unknown' | undefined
  /** Names the request in the service's logs. */
  readonly requestId: string | undefined
  readonly field: string | undefined
  readonly hint: string | undefined
  readonly limitBytes: number | undefined
  readonly lockExpiresAtMs: number | undefined
  readonly retryAfterMs: number | undefined
  /** How often the request was sent. */
  readonly attempts: number = 1

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'PushPopError'
    this.code = code
    this.status = details.status
    this.retryable = details.retryable ?? false
    this.outcome = details.outcome
    this.requestId = details.requestId
    this.field = details.field
    this.hint = details.hint
    this.limitBytes = details.limitBytes
    this.lockExpiresAtMs = details.lockExpiresAtMs
    this.retryAfterMs = details.retryAfterMs
  }
}

/** `isPushPopError(e)`, or `isPushPopError(e, 'LOCK_EXPIRED', …)` for some codes only. */
export function isPushPopError<C extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: readonly C[]
): error is PushPopError & { readonly code: C } {
  if (!(error instanceof PushPopError)) return false
  return codes.length === 0 || (codes as readonly ErrorCode[]).includes(error.code)
}

/** The lock no longer exists: its items are back, settled or moved. */
export const isLockLost = (
  error: unknown,
): error is PushPopError & { readonly code: LostLockCode } =>
  isPushPopError(error, ...lostLockCodes)

/** Another consumer holds the queue, until `lockExpiresAtMs` at most. */
export const isQueueLocked = (
  error: unknown,
): error is PushPopError & { readonly code: 'QUEUE_LOCKED' } =>
  isPushPopError(error, 'QUEUE_LOCKED')

/** The call may have had its effect. */
export const isOutcomeUnknown = (error: unknown): error is PushPopError =>
  isPushPopError(error) && error.outcome === 'unknown'

/** The queue has reached its own limit, and says how long: that is no failure, and hurrying does not help. */
export const isAtLimit = (error: PushPopError): error is PushPopError & { retryAfterMs: number } =>
  error.code === 'RATE_LIMITED' && error.retryAfterMs !== undefined

/** An error in the service's own words. */
export function fromErrorBody(
  body: ErrorBody,
  status: number,
  retryAfterMs: number | undefined,
): PushPopError {
  const { lock_expires_at: lockExpiresAt } = body
  return new PushPopError(body.error_code, body.message, {
    status,
    retryable: body.retryable,
    outcome: body.outcome,
    requestId: body.request_id,
    field: body.field,
    hint: body.hint,
    limitBytes: body.limit_bytes,
    lockExpiresAtMs: lockExpiresAt === undefined ? undefined : lockExpiresAt * 1000,
    // The header counts whole seconds.
    retryAfterMs: body.retry_after_ms ?? retryAfterMs,
  })
}
