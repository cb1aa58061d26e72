// What an error tells a caller who must act on it: a code from one table, the field that is wrong, whether something
// may have changed, when to come back. Its message says what to do. Any other error is a fault of ours.

import { ID_RULE, isDeadLetterQueue, isQueueId, originOf } from './bounds.ts'

/** By code: whether another try may succeed. */
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
  /** How long to wait before another try, if we know. */
  readonly retryAfterMs?: number | undefined
  /** Trying again does not help here, although with this code it usually does. */
  readonly isFinal?: true
  readonly cause?: unknown
}

/** A promise that error messages make. An error after part of the work must not make it. */
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

  static busy(queue: string): QueueError {
    return new QueueError('BUSY', `Queue "${queue}" is too busy at the moment; ${NOTHING_CHANGED}`)
  }

  /** The answer to a write was lost, and nothing tells whether it was made. */
  static unknown(queue: string, cause: unknown): QueueError {
    return new QueueError(
      'STORE_UNAVAILABLE',
      `Cannot tell whether the change to queue "${queue}" was made, because the store's answer was lost`,
      { outcome: 'unknown', cause },
    )
  }

  static unreadable(queue: string): QueueError {
    return new QueueError(
      'SEGMENT_UNAVAILABLE',
      `Cannot read the next items of queue "${queue}" at the moment; nothing was passed over`,
    )
  }

  /** For an error after part of the work was done: it must not tell the caller "nothing changed". */
  static partly(error: unknown): unknown {
    if (!(error instanceof QueueError) || error.outcome === 'unknown') return error
    const message = error.message.replace(NOTHING_CHANGED, 'a part was done before')
    return new QueueError(error.code, message, {
      outcome: 'unknown',
      cause: error.cause ?? error,
      field: error.field,
      ...(!error.retryable && { isFinal: true }),
    })
  }
}

/** Refuses a parameter; `field` is its name over HTTP. */
export const invalid = (field: string, message: string): QueueError =>
  new QueueError('INVALID_PARAMETER', message, { field })

/** A newer version made the record: trying again does not help, only deploying that version here as well. */
export const isFormatUnknown = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'FORMAT_UNKNOWN'

export function checkQueueId(id: unknown): void {
  if (isQueueId(id)) return
  throw new QueueError('INVALID_QUEUE_ID', `A queue id must be ${ID_RULE}${whyNot(id)}`, {
    field: 'id',
  })
}

/** `x-deadletter-deadletter` is made of the right characters, so the rule alone would explain nothing. */
export const whyNot = (id: unknown): string =>
  typeof id === 'string' && isDeadLetterQueue(id) && isDeadLetterQueue(originOf(id))
    ? '; a dead-letter queue has none of its own, so "-deadletter" may stand at the end once'
    : ''
