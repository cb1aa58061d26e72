// Every answer over HTTP: its headers, the one shape of errors with their statuses, and how items and times are
// written. It tells what happened and what to do, and nothing of our internals.

import { ITEM_BYTES_MAX } from '../../engine/core/limits.ts'
import type { BrowsePage, PoppedItem } from '../../engine/queues.ts'
import type { Standing } from '../../rate/rate-limits.ts'
import { type ErrorCode, QueueError } from '../../shared/errors.ts'
import { toldFields } from '../../shared/item-fields.ts'

/** An answer in the form that the gateway takes. */
export type Answer = {
  readonly statusCode: number
  readonly headers: Headers
  readonly body: string
}

type Headers = Readonly<Record<string, string>>

/**
 * No proxy or browser may cache an answer: two equal requests rarely have equal answers. And no browser may mistake
 * an item's text for a page.
 */
const everyAnswer: Headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export const answer = (statusCode: number, body: object | string, headers?: Headers): Answer => ({
  statusCode,
  headers: { ...everyAnswer, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

export const ok = (body: object | string, headers?: Headers): Answer => answer(200, body, headers)

/** Milliseconds as epoch seconds, always with a fraction: `1709139275.0`. */
export function secondsText(ms: number): string {
  const text = String(ms / 1000)
  return text.includes('.') ? text : `${text}.0`
}

type RawJson = { rawJSON(text: string): unknown }

/** The same for `JSON.stringify`, which would drop a fraction of zero. */
export const seconds = (ms: number): unknown =>
  (JSON as unknown as RawJson).rawJSON(secondsText(ms))

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

/** An expected outcome for us, but an error for the caller: 423, with the latest time at which the lock or delay ends. */
export class QueueLocked extends Error {
  readonly expiresAtMs: number

  constructor(expiresAtMs: number, forRetry = false) {
    super(
      forRetry
        ? 'Queue waits for items that were released with a delay'
        : 'Queue is locked pending acknowledgement',
    )
    this.name = 'QueueLocked'
    this.expiresAtMs = expiresAtMs
  }
}

/** `Retry-After`: rounded up, so that the window is open by then, and at least one, because zero would mean "now". */
export const retryAfter = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))

/**
 * `RateLimit-Policy` and `RateLimit` by draft-ietf-httpapi-ratelimit-headers-10. Both count whole
 * seconds, so a shorter window is shown as one of a second.
 */
export const rateLimitHeaders = (
  { limit, windowMillis, remaining }: Standing,
  resetMs: number,
): Headers => ({
  'ratelimit-policy': `"default";q=${limit};w=${retryAfter(windowMillis)}`,
  ratelimit: `"default";r=${remaining};t=${retryAfter(resetMs)}`,
})

type Extra = Readonly<Record<string, unknown>>

type RequestErrorDetails = {
  /** The field, parameter or header that is wrong. */
  readonly field?: string
  readonly headers?: Headers
  /** What the limit was, in bytes. */
  readonly limitBytes?: number
  /** Set if the same request may succeed later. Otherwise it never will. */
  readonly retryable?: true
  /** More fields of the answer. */
  readonly extra?: Extra
}

/** A request that never reaches the engine. Callers see its message, which never repeats a payload. */
export class RequestError extends Error {
  readonly code: HttpErrorCode
  readonly details: RequestErrorDetails

  constructor(code: HttpErrorCode, message: string, details: RequestErrorDetails = {}) {
    super(message)
    this.name = 'RequestError'
    this.code = code
    this.details = details
  }
}

const NAME_CHARACTERS_MAX = 64

/** A name that a caller chose, short enough for a sentence. */
export const quoted = (name: string): string =>
  JSON.stringify(
    name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name,
  )

/** An error about a field has the field's own code, however it is wrong. */
export const codeOf = (field: string): HttpErrorCode => codes.get(field) ?? 'INVALID_PARAMETER'

const codes: ReadonlyMap<string, HttpErrorCode> = new Map([
  ['item', 'INVALID_ITEM'],
  ['items', 'INVALID_ITEM'],
  ['priority', 'INVALID_PRIORITY'],
  ['count', 'INVALID_COUNT'],
  ['ttl_seconds', 'INVALID_TTL'],
])

/** The time is nearly up: nobody hears of the work under way, which goes on or is frozen with the process. */
export class OutOfTime extends Error {
  constructor() {
    super('The invocation ran out of time')
    this.name = 'OutOfTime'
  }
}

type ErrorAnswer = { readonly code: HttpErrorCode; readonly answer: Answer }

/** The one shape of every error. `changes`: the request may have changed something. */
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
  headers: Headers = {},
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

export const itemTexts = (items: readonly PoppedItem[]): string =>
  `[${items.map(({ text }) => text).join(',')}]`

/** What an answer tells of an item beside its JSON: the fields that it has, in the order of their table. */
export function detailsText(item: Partial<BrowsePage['items'][number]>): string {
  let text = ''
  for (const { name, wire, is } of toldFields) {
    const value = item[name as keyof typeof item]
    if (value === undefined) continue
    const told =
      is === 'text' ? JSON.stringify(value) : is === 'time' ? secondsText(value as number) : value
    text += `${text === '' ? '{' : ','}"${wire}":${told}`
  }
  return `${text}}`
}
