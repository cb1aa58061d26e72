// What an HTTP answer means: a success, a refusal (nothing was changed), or nothing certain.

import type { ErrorBody } from './api-types.ts'
import { type ErrorCode, fromErrorBody, PushPopError } from './errors.ts'
import { isAnswerTo } from './expected-fields.ts'
import type { Failure, Verb } from './retry.ts'

type RawAnswer = {
  readonly status: number
  readonly text: string
  header(name: string): string | null
}

export type Answer = {
  readonly kind: 'answer'
  readonly body: unknown
  readonly text: string
  readonly etag: string | undefined
  /** The service asks its caller to pause, although nothing is wrong. */
  readonly retryAfterMs?: number | undefined
  /** An earlier call with the same idempotency key had done the work. */
  readonly isReplay: boolean
}

export function interpret(raw: RawAnswer, verb: Verb, denialIsAnswer = false): Answer | Failure {
  const { status, text } = raw
  const body = parsed(text)
  const isObject = typeof body === 'object' && body !== null
  const isSuccess = status >= 200 && status < 300
  const retryAfterMs = secondsOf(raw.header('retry-after'))
  const isDenial = status === 429 && isObject && 'allowed' in body
  if (isObject && (isSuccess ? isAnswerTo(verb, body) : isDenial && denialIsAnswer)) {
    const etag = raw.header('etag') ?? undefined
    const isReplay = raw.header('idempotency-replayed') === 'true'
    return { kind: 'answer', body, text, etag, isReplay, retryAfterMs }
  }
  if (isObject && 'error_code' in body) {
    const error = fromErrorBody(body as ErrorBody, status, retryAfterMs)
    // `INTERNAL` means that nobody knows what happened, and that it would happen again.
    const lost = error.outcome === 'unknown' || error.code === 'INTERNAL'
    return { kind: lost ? 'lost' : 'refused', error }
  }
  return fromElsewhere(raw, retryAfterMs, isObject ? said(body) : undefined)
}

/** Answers that the gateway gives by itself, without asking the service. */
const gatewaySays: Readonly<Record<number, { code: ErrorCode; message: string }>> = {
  401: { code: 'UNAUTHORIZED', message: 'The signature or token is missing, wrong or too old' },
  403: { code: 'FORBIDDEN', message: 'These credentials do not allow this call' },
  404: { code: 'NOT_FOUND', message: 'There is no PushPop at this address; check the url' },
  413: { code: 'BODY_TOO_LARGE', message: 'The body is too large for the gateway' },
  429: { code: 'RATE_LIMITED', message: 'Too many requests; try again in a moment' },
}

function fromElsewhere(
  { status, header }: RawAnswer,
  retryAfterMs: number | undefined,
  hint: string | undefined,
): Failure {
  const requestId = header('apigw-requestid') ?? undefined
  const known = gatewaySays[status]
  if (known !== undefined) {
    const details = { status, retryable: status === 429, requestId, retryAfterMs, hint }
    return { kind: 'refused', error: new PushPopError(known.code, known.message, details) }
  }
  const message = `Cannot tell what happened because the answer (status ${status}) is not PushPop's`
  // After a success without its body, or a gateway timeout, the call may have had its effect.
  const lost = status < 300 || status === 408 || status >= 500
  const error = new PushPopError('UNEXPECTED_ANSWER', message, {
    status,
    retryable: lost,
    requestId,
    retryAfterMs,
    hint,
  })
  return { kind: lost ? 'lost' : 'refused', error }
}

/** The gateway's own words: `The security token included in the request is expired`. */
const said = (body: object): string | undefined =>
  'message' in body && typeof body.message === 'string' ? body.message : undefined

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only the form in seconds: the service never sends a date. */
function secondsOf(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN)
  return header !== null && header !== '' && seconds >= 0 ? seconds * 1000 : undefined
}
