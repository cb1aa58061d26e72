import type { ErrorCode } from '../foundation/errors.ts'

/** Errors that only HTTP has; all others come from the engine. */
type RequestErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_FIELD'
  | 'QUEUE_LOCKED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'OVERRIDE_REFUSED'
  | 'TICKET_NOT_FOUND'
  | 'INTERNAL'

export type HttpErrorCode = ErrorCode | RequestErrorCode

type ErrorRow = {
  readonly status: number
  /** After this many seconds, another try makes sense. */
  readonly retryAfter?: number
}

/** A consumer empties a full queue, and a seal or a throttled second passes, at about this pace. */
const soon = { retryAfter: 1 }

export const errorTable: Readonly<Record<HttpErrorCode, ErrorRow>> = {
  INVALID_QUEUE_ID: { status: 400 },
  INVALID_JSON: { status: 400 },
  INVALID_ITEM: { status: 400 },
  INVALID_PRIORITY: { status: 400 },
  INVALID_COUNT: { status: 400 },
  INVALID_TTL: { status: 400 },
  INVALID_PARAMETER: { status: 400 },
  UNKNOWN_FIELD: { status: 400 },
  INVALID_LOCK_ID: { status: 400 },
  OVERRIDE_REFUSED: { status: 403 },
  LOCK_NOT_FOUND: { status: 404 },
  TICKET_NOT_FOUND: { status: 404 },
  SCHEDULE_NOT_FOUND: { status: 404 },
  NOT_FOUND: { status: 404 },
  METHOD_NOT_ALLOWED: { status: 405 },
  TOO_MANY_SCHEDULES: { status: 409 },
  LOCK_EXPIRED: { status: 410 },
  VERSION_MISMATCH: { status: 412 },
  ITEM_TOO_LARGE: { status: 413 },
  BODY_TOO_LARGE: { status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415 },
  IDEMPOTENCY_CONFLICT: { status: 422 },
  QUEUE_LOCKED: { status: 423 },
  QUEUE_FULL: { status: 429, ...soon },
  TOO_MANY_PRIORITIES: { status: 429, ...soon },
  TOO_MANY_LOCKS: { status: 429, ...soon },
  RATE_LIMITED: { status: 429, ...soon },
  INTERNAL: { status: 500 },
  FORMAT_UNKNOWN: { status: 500 },
  BUSY: { status: 503, ...soon },
  STORE_UNAVAILABLE: { status: 503, ...soon },
  SEGMENT_UNAVAILABLE: { status: 503, ...soon },
}
