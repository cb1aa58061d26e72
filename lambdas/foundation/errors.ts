/** What a caller must act on: one class, a code from this table, and what to do in the message. */
const retryable = {
  INVALID_QUEUE_ID: false,
  INVALID_ITEM: false,
  INVALID_PRIORITY: false,
  INVALID_COUNT: false,
  INVALID_TTL: false,
  INVALID_PARAMETER: false,
  INVALID_LOCK_ID: false,
  LOCK_NOT_FOUND: false,
  LOCK_EXPIRED: false,
  SCHEDULE_NOT_FOUND: false,
  TOO_MANY_SCHEDULES: false,
  VERSION_MISMATCH: false,
  ITEM_TOO_LARGE: false,
  BODY_TOO_LARGE: false,
  IDEMPOTENCY_CONFLICT: false,
  FORMAT_UNKNOWN: false,
  RATE_LIMITED: true,
  QUEUE_FULL: true,
  TOO_MANY_PRIORITIES: true,
  TOO_MANY_LOCKS: true,
  BUSY: true,
  STORE_UNAVAILABLE: true,
  SEGMENT_UNAVAILABLE: true,
} as const

export type ErrorCode = keyof typeof retryable

export type ErrorDetails = {
  /** The field or parameter that is wrong. */
  readonly field?: string | undefined
  /** `unknown`: the change may have been made, or may still be. */
  readonly outcome?: 'unknown' | undefined
  /** When it is worth another try, where that is known. */
  readonly retryAfterMs?: number | undefined
  /** Trying again does not help, though this code usually passes. */
  readonly isFinal?: true
  readonly cause?: unknown
}

/** What messages of errors promise; one that comes after a part was done must not. */
export const NOTHING_CHANGED = 'nothing was changed'

export class QueueError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly field: string | undefined
  readonly outcome: 'unknown' | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'QueueError'
    this.code = code
    this.retryable = retryable[code] && details.isFinal !== true
    this.field = details.field
    this.outcome = details.outcome
    this.retryAfterMs = details.retryAfterMs
  }
}

/** A newer version made the record: no repetition helps, only the newer version here as well. */
export const isFormatUnknown = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'FORMAT_UNKNOWN'
