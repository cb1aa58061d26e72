// One call: sent, timed, and sent again if that is safe.

import { present } from '../lambdas/foundation/shared/present.ts'
import { isUnsent } from '../lambdas/foundation/shared/unsent.ts'
import { type Answer, interpret } from './answer.ts'
import type { Authorise } from './auth.ts'
import { delay } from './delay.ts'
import { isAtLimit, PushPopError } from './errors.ts'
import { isRedirect, redirected } from './redirect.ts'
import {
  type Failure,
  lockPauseMs,
  mayRepeat,
  pauseMs,
  type RetryPolicy,
  type Verb,
} from './retry.ts'

export type Call = {
  readonly verb: Verb
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
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

type Transport = {
  readonly base: URL
  readonly fetch: typeof globalThis.fetch
  readonly authorise: Authorise
  readonly timeoutMs: number
  readonly policy: RetryPolicy
}

export type Send = (call: Call) => Promise<Answer>

/** Nothing checks this type here: the service's own tests compare its answers with docs/openapi.json. */
export type Answered<Body> = Answer & { readonly body: Body }

/** A second longer than the gateway waits for the service; then the gateway answers by itself. */
export const TIMEOUT_MS = 31_000

/** A call that waits in the service may take that much longer, but never longer than the gateway waits. */
const answerMs = ({ timeoutMs }: Transport, { heldMs = 0 }: Call): number =>
  Math.max(timeoutMs, Math.min(timeoutMs + heldMs, TIMEOUT_MS))

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
    if (result.kind === 'lost' && call.method !== 'GET') lost = true
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
  const { verb, method, body, signal, denialIsAnswer } = call
  const timeoutMs = answerMs(transport, call)
  const url = urlOf(transport.base, call)
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

function urlOf(base: URL, { path, query = {} }: Call): URL {
  const url = new URL(base)
  url.pathname = base.pathname.replace(/\/$/, '') + path
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url
}

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
