import { setTimeout as delay } from 'node:timers/promises'
import { interpret } from '../../client/answer.ts'
import { authoriser } from '../../client/auth.ts'
import { PushPopError } from '../../client/index.ts'
import { type Failure as Failed, pauseMs } from '../../client/retry.ts'
import { interrupted, messageOf } from '../failure.ts'
import { httpAuth } from './http-auth.ts'
import type { Place } from './open-target.ts'
import type { Answer, DecideRequest, Rates } from './rates.ts'
import type { AwsSettings } from './store-target.ts'
import { whereNobodyAnswers } from './unreachable.ts'

/** As the client: a second more than the gateway waits for the service, and some 3 s of trouble. */
const TIMEOUT_MS = 31_000
const ATTEMPTS_MAX = 5

type Call = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: DecideRequest
  readonly body?: object
  readonly etag?: string | undefined
}

/** The API's rate limits, which its client has no verbs for. */
export function openHttpRates(
  place: Extract<Place, { kind: 'http' }>,
  aws: AwsSettings,
  token: string | undefined,
  interrupt: AbortSignal,
): Rates {
  const base = new URL(place.url)
  const authorise = authoriser(httpAuth(place, aws, token), base, Date.now)

  async function send<Body>(call: Call): Promise<Answer<Body>> {
    let lost = false
    for (let sent = 1; ; sent += 1) {
      const result = await sendOnce(call)
      if (result.kind === 'answer') return result as Answer<Body>
      const { error } = result
      if (result.kind === 'lost' && call.method !== 'GET') lost = true
      const again = sent < ATTEMPTS_MAX && mayRepeat(call, result)
      if (!again) {
        // Once an answer was lost, no later refusal says that nothing was changed.
        const outcome = lost || error.outcome === 'unknown' ? 'unknown' : undefined
        throw whereNobodyAnswers(
          place.url,
          Object.assign(error, { attempts: sent, outcome } as const),
        )
      }
      await delay(pauseMs(sent, error.retryAfterMs), undefined, { signal: interrupt }).catch(() => {
        throw stopped(lost)
      })
    }
  }

  async function sendOnce(call: Call): Promise<(Answer<unknown> & { kind: 'answer' }) | Failed> {
    const { method } = call
    const url = urlOf(base, call)
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const headers = await authorise({
      method,
      url,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(call.etag !== undefined && { 'if-match': call.etag }),
      },
      body,
    }).catch((cause: unknown) => {
      if (cause instanceof PushPopError) throw cause
      throw new PushPopError('UNAUTHORIZED', `Cannot sign the request: ${messageOf(cause)}`, {
        cause,
      })
    })
    const late = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const signal = AbortSignal.any([interrupt, late])
      const init = { method, headers, signal, ...(body !== undefined && { body }) }
      const response = await fetch(url, init)
      const text = await response.text()
      const denied = response.status === 429 ? denialIn(text) : undefined
      if (denied !== undefined) return { kind: 'answer', body: denied, text }
      const header = (name: string) => response.headers.get(name)
      return interpret({ status: response.status, text, header })
    } catch (cause) {
      if (interrupt.aborted) throw stopped(method !== 'GET')
      const details = { retryable: true, cause }
      const error = late.aborted
        ? new PushPopError('TIMEOUT', `No answer came within ${TIMEOUT_MS} ms`, details)
        : new PushPopError('NETWORK_ERROR', `No answer came from ${url.origin}`, details)
      return { kind: 'lost', error }
    }
  }

  const path = (key: string) => `/rate/${key}`
  const config = (key: string) => `${path(key)}/config`
  const ofTicket = (key: string, ticket: string) =>
    `${path(key)}/tickets/${encodeURIComponent(ticket)}`
  return {
    decide: (key, query) => send({ method: 'POST', path: path(key), query }),
    state: (key) => send({ method: 'GET', path: path(key) }),
    configuration: (key) => send({ method: 'GET', path: config(key) }),
    configure: (key, body) => send({ method: 'PUT', path: config(key), body }),
    unconfigure: (key) => send({ method: 'DELETE', path: config(key) }),
    patterns: () => send({ method: 'GET', path: '/rate-config' }),
    configurePatterns: (patterns, etag) =>
      send({ method: 'PUT', path: '/rate-config', body: { patterns }, etag }),
    verify: (key, ticket) => send({ method: 'GET', path: ofTicket(key, ticket) }),
    giveUp: (key, ticket) => send({ method: 'DELETE', path: ofTicket(key, ticket) }),
    asTyped: place.asTyped,
    // Connections that are kept alive end with the process.
    close() {},
  }
}

/** After a lost answer only what a second copy cannot do again: a decision would take another place. */
function mayRepeat({ method, etag }: Call, { kind, error }: Failed): boolean {
  return error.retryable && (kind === 'refused' || method === 'GET' || etag !== undefined)
}

/** A denial is an answer; the gateway's own 429 is a reason to ask again. */
function denialIn(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text)
    const isDenial = typeof body === 'object' && body !== null && 'allowed' in body
    return isDenial ? body : undefined
  } catch {
    return undefined
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

const stopped = (isDoubtful: boolean) =>
  interrupted(isDoubtful ? 'Stopped; it may have been done all the same.' : 'Stopped.')
