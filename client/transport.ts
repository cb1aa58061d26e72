// One call: sent, timed, understood, and sent again if that is safe. An answer is a success, a refusal (nothing was
// changed), or nothing certain.
//
//   sent ──success──▶ answered
//     ├──refused──▶ told, or a pause ──▶ sent
//     └──lost──▶ told as unknown, or, if a second copy does no harm, a pause ──▶ sent
//
// Once an answer was lost, a later refusal no longer means that nothing was changed, and we say so.

import { systemClock } from '../shared/system.ts'
import { routes, type Verb } from '../shared/verbs.ts'
import { isUnsent, present } from '../shared/wire.ts'
import type { ErrorBody } from './api-types.ts'
import type { Authorise } from './auth.ts'
import { type ErrorCode, fromErrorBody, isAtLimit, PushPopError } from './errors.ts'
import type { MatchOptions } from './queue.ts'
import {
  type Failure,
  isAnswerTo,
  lockPauseMs,
  mayRepeat,
  pauseMs,
  type RetryPolicy,
} from './retry.ts'

export type Call = {
  readonly verb: Verb
  /** What its path names: the queue's id, a schedule's name. */
  readonly at?: Readonly<Record<string, string>>
  /** Instead of the verb's own: an address that may be none of PushPop's. */
  readonly address?: { readonly method: string; readonly path: string }
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
  /** It has a key or revision that makes a second copy harmless, or the caller accepts one. */
  readonly isRepeatable?: boolean | undefined
  /** Whether the caller handles this refusal itself, so that the transport must not ask again. */
  readonly isFinal?: ((error: PushPopError) => boolean) | undefined
  /** A rate limit's "no" (429, with `allowed`) is a valid answer; the gateway's own 429 is not. */
  readonly denialIsAnswer?: boolean
  /** How long the service may hold it before it answers. */
  readonly heldMs?: number
  /** The call acknowledges a lock, which nobody should hold while waiting for the queue's limit. */
  readonly holdsLock?: boolean
  /** How long to wait for a locked queue. */
  readonly waitForLockMs?: number | undefined
  /** Gives up at once, whatever may have happened. */
  readonly signal?: AbortSignal | undefined
  /** After this signal: no more pauses, but one more request if an answer was lost. */
  readonly hurry?: AbortSignal | undefined
}

type Answer = {
  readonly kind: 'answer'
  readonly body: unknown
  readonly text: string
  readonly etag: string | undefined
  /** The service asks its caller to pause, although nothing is wrong. */
  readonly retryAfterMs?: number | undefined
  /** An earlier call with the same idempotency key had done the work. */
  readonly isReplay: boolean
}

/** Nothing checks this type here: the service's own tests compare its answers with docs/openapi.json. */
export type Answered<Body> = Answer & { readonly body: Body }

export type Send = (call: Call) => Promise<Answer>

/** A revision makes a second copy of a change have no effect. */
export function matchOf(options: MatchOptions): Omit<Call, 'verb'> {
  const { ifMatch, signal } = options
  return ifMatch === undefined
    ? { signal }
    : { signal, headers: { 'if-match': ifMatch }, isRepeatable: true }
}

type Transport = {
  readonly base: URL
  readonly fetch: typeof globalThis.fetch
  readonly authorise: Authorise
  readonly timeoutMs: number
  readonly policy: RetryPolicy
}

/** A second longer than the gateway waits for the service; then the gateway answers by itself. */
export const TIMEOUT_MS = 31_000

export const sender =
  (transport: Transport): Send =>
  (call) =>
    send(transport, call)

async function send(transport: Transport, call: Call): Promise<Answer> {
  const { policy } = transport
  const { verb, isRepeatable = false, signal, hurry, holdsLock = false, waitForLockMs = 0 } = call
  const startedAtMs = performance.now()
  let failures = 0
  let timesLocked = 0
  let lost = false
  let hurried = false
  for (let sent = 1; ; sent += 1) {
    if (signal?.aborted) throw told(aborted(signal), sent - 1, lost)
    const result = await sendOnce(transport, call, lost)
    // Once an answer was lost, the earlier call may be this one.
    if (result.kind === 'answer') return lost ? { ...result, isReplay: false } : result
    const { error } = result
    if (result.kind === 'refused' && lost) tellOfDoubt(error)
    // Only a call that changes something can have an unknown outcome.
    if (result.kind === 'lost' && addressOf(call).method !== 'GET') lost = true
    if (error.code === 'ABORTED') throw told(error, sent, lost)

    const elapsedMs = performance.now() - startedAtMs
    let pause: number
    let untilMs: number
    if (error.code === 'QUEUE_LOCKED' && waitForLockMs > 0) {
      timesLocked += 1
      untilMs = waitForLockMs
      pause = Math.min(lockPauseMs(timesLocked, error.retryAfterMs), untilMs - elapsedMs)
      if (pause <= 0) throw told(error, sent, lost)
    } else {
      if (holdsLock && isAtLimit(error)) throw told(error, sent, lost)
      failures += 1
      untilMs = policy.totalMs
      pause = pauseMs(failures, error.retryAfterMs)
      const again = mayRepeat(result, { verb, isRepeatable }) && failures < policy.attemptsMax
      if (!again || call.isFinal?.(error)) throw told(error, sent, lost)
    }
    if (elapsedMs + pause > untilMs) throw told(error, sent, lost)
    policy.onRetry(error, pause)
    if (hurry?.aborted || (await interrupted(pause, signal, hurry))) {
      if (signal?.aborted) continue
      if (hurried || result.kind === 'refused') throw told(error, sent, lost)
      hurried = true
    }
  }
}

/** Once an answer was lost, a later refusal does not mean that nothing was changed. */
function told(error: PushPopError, sent: number, lost: boolean): PushPopError {
  const outcome = lost || error.outcome === 'unknown' ? 'unknown' : undefined
  return Object.assign(error, { attempts: sent, outcome })
}

/** What the message says is true of this attempt alone: "nothing was changed", for example. */
function tellOfDoubt(error: PushPopError): void {
  // The provider of the credentials may throw the same error again.
  if (!error.message.endsWith(DOUBT)) error.message += DOUBT
}

const DOUBT = '; an earlier attempt had no answer, so nobody knows whether it was carried out'

async function sendOnce(
  transport: Transport,
  call: Call,
  lost: boolean,
): Promise<Answer | Failure> {
  const { verb, body, signal, denialIsAnswer } = call
  const { method, path } = addressOf(call)
  const timeoutMs = answerMs(transport, call)
  const url = urlOf(transport.base, path, call)
  let headers: Readonly<Record<string, string>> = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...call.headers,
  }
  try {
    headers = await transport.authorise({ method, url, headers, body })
  } catch (cause) {
    return { kind: 'refused', error: unsigned(cause) }
  }
  const attempt = new AbortController()
  const stop = () => attempt.abort()
  const timer = setTimeout(stop, timeoutMs)
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    // Do not call it as a method: a browser's fetch must not have a `this`.
    const { fetch } = transport
    const response = await fetch(url, {
      method,
      headers,
      signal: attempt.signal,
      // Do not use `error`: fetch would fail as if the connection had broken. The client would then send the call
      // again, could not say that nothing was changed, and a consumer would go on for ever.
      redirect: 'manual',
      ...present({ body }),
    })
    const text = await response.text()
    if (isRedirect(response)) return { kind: 'refused', error: redirected(url, response) }
    const header = (name: string) => response.headers.get(name)
    return interpret({ status: response.status, text, header }, verb, denialIsAnswer)
  } catch (cause) {
    if (signal?.aborted) return { kind: 'lost', error: aborted(signal) }
    // A browser does not give the cause.
    if (isUnsent((cause as Error).cause))
      return { kind: 'refused', error: noConnection(url, lost, cause) }
    return {
      kind: 'lost',
      error: attempt.signal.aborted ? noAnswerIn(timeoutMs) : unreachable(url, cause),
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** A call that waits in the service may take that much longer, but never longer than the gateway waits. */
const answerMs = ({ timeoutMs }: Transport, { heldMs = 0 }: Call): number =>
  Math.max(timeoutMs, Math.min(timeoutMs + heldMs, TIMEOUT_MS))

function addressOf({ verb, at = {}, address }: Call): { method: string; path: string } {
  const [method, path] = routes[verb]
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(at[name] as string))
  return address ?? { method, path: filled }
}

function urlOf(base: URL, path: string, { query = {} }: Call): URL {
  const url = new URL(base)
  url.pathname = base.pathname.replace(/\/$/, '') + path
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url
}

/** Waits this long, or until the signal comes; the caller must check the signal afterwards. */
export const delay = systemClock.sleep

/** Whether one of the signals came before the pause was over. */
export async function interrupted(
  ms: number,
  signal: AbortSignal | undefined,
  hurry: AbortSignal | undefined,
): Promise<boolean> {
  const done = new AbortController()
  const stop = () => done.abort()
  for (const it of [signal, hurry]) it?.addEventListener('abort', stop)
  if (signal?.aborted || hurry?.aborted) stop()
  await delay(ms, done.signal)
  for (const it of [signal, hurry]) it?.removeEventListener('abort', stop)
  return done.signal.aborted
}

type RawAnswer = {
  readonly status: number
  readonly text: string
  header(name: string): string | null
}

function interpret(raw: RawAnswer, verb: Verb, denialIsAnswer = false): Answer | Failure {
  const { status, text } = raw
  const body = parsed(text)
  const isObject = typeof body === 'object' && body !== null
  const isSuccess = status >= 200 && status < 300
  const retryAfterMs = pauseAsked(raw.header('retry-after'))
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

/** In milliseconds. Only the form in seconds counts: the service never sends a date. */
function pauseAsked(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN)
  return header !== null && header !== '' && seconds >= 0 ? seconds * 1000 : undefined
}

type Redirected = Pick<Response, 'type' | 'status' | 'headers'>

/**
 * We follow no redirect: a token or signature is meant only for the given address, and following some redirects would
 * turn a POST into a GET. A browser tells a page only that there was one: no status, no headers.
 */
const isRedirect = ({ type, status }: Redirected): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)

/** PushPop never redirects: another server did, and did not carry out the call. */
function redirected(url: URL, answer: Redirected): PushPopError {
  const to = originIn(answer.headers.get('location'), url) ?? 'another address'
  return new PushPopError(
    'UNEXPECTED_ANSWER',
    `Cannot ask ${url.origin} because it redirects to ${to}, and a redirect is not followed; ` +
      'give the address that PushPop itself answers at',
    answer.status === 0 ? {} : { status: answer.status },
  )
}

/** Only its origin: the rest may be a secret, such as the state of single sign-on. */
function originIn(location: string | null, base: URL): string | undefined {
  if (location === null) return undefined
  try {
    const { protocol, origin } = new URL(location, base)
    return /^https?:$/.test(protocol) ? origin : undefined
  } catch {
    return undefined
  }
}

/** Nothing was sent. */
function unsigned(cause: unknown): PushPopError {
  if (cause instanceof PushPopError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PushPopError('UNAUTHORIZED', `Cannot sign the request: ${reason}`, { cause })
}

export const aborted = (signal: AbortSignal): PushPopError =>
  new PushPopError('ABORTED', 'The call was given up because its signal was aborted', {
    cause: signal.reason,
  })

export const noAnswerIn = (ms: number, outcome?: 'unknown'): PushPopError =>
  new PushPopError('TIMEOUT', `No answer came within ${ms} ms`, { retryable: true, outcome })

/** `lost`: an earlier attempt was sent. */
function noConnection(url: URL, lost: boolean, cause: unknown): PushPopError {
  const message = `Cannot connect to ${url.origin}${lost ? '' : '; nothing was sent'}`
  return new PushPopError('NETWORK_ERROR', message, { retryable: true, cause })
}

const unreachable = (url: URL, cause: unknown): PushPopError =>
  new PushPopError('NETWORK_ERROR', `No answer came from ${url.origin}`, { retryable: true, cause })
