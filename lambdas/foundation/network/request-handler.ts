// Sends the requests of an AWS client, in place of the SDK's own handler.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { answerTimeoutsMs } from './answer-timeouts.ts'
import { exchange, type SdkResponse } from './exchange.ts'
import type { SdkRequest } from './outgoing.ts'
import { abortError } from './request-errors.ts'
import { Sockets } from './sockets.ts'

export type RequestHandlerOptions = {
  /** From handing over a request to the last byte of its answer. Default: 3 s. */
  readonly answerTimeoutMs?: number
  /** For looking up the name, connecting and TLS. Default: 1 s. */
  readonly connectTimeoutMs?: number
  /** A connection that has been idle for longer is not used again. Default: 4 s. */
  readonly idleMsMax?: number
  /** Requests under way at once, each on a connection; others wait. Default: 50. */
  readonly socketsMax?: number
  /** A test may pass its own clock. Default: the wall clock. */
  readonly nowMs?: () => number
}

/** What a client takes as its `requestHandler`. */
export type RequestHandler = DynamoDBClient['config']['requestHandler'] & {
  readonly answerTimeoutMs: number
}

/** Within a region a connection takes milliseconds: after a second, none will come. */
const CONNECT_TIMEOUT_MS = 1_000
/**
 * A second less than the shortest time after which we saw an AWS service end an idle connection: S3 after
 * 5 s, Kinesis 6, DynamoDB 60; a NAT gateway forgets one after 350 s (decision 0023). If calls are rarer
 * than that, each pays for a new connection, some milliseconds.
 */
const IDLE_MS_MAX = 4_000
/**
 * As many as the SDK's own. Housekeeping, which sends the most at once, copies 24 segments; a Lambda
 * has 1,024 files and connections.
 */
const SOCKETS_MAX = 50

/**
 * Reuses connections without losing requests on dead ones, bounds the time of every answer up to its last
 * byte, and tells a request that never left (`RequestNotSentError`) from one whose fate is unknown.
 */
export function createRequestHandler(options: RequestHandlerOptions = {}): RequestHandler {
  const {
    answerTimeoutMs = answerTimeoutsMs.dynamodb,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    idleMsMax = IDLE_MS_MAX,
    socketsMax = SOCKETS_MAX,
    nowMs = Date.now,
  } = options
  const socketOptions = { idleMsMax, socketsMax, nowMs }
  // Make it here, so that TLS loads while a function starts, and not in its first call.
  const https = new Sockets('https:', socketOptions)
  let http: Sockets | undefined

  function socketsFor(protocol: string): Sockets {
    if (protocol === 'https:') return https
    http ??= new Sockets('http:', socketOptions)
    return http
  }

  return {
    answerTimeoutMs,
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(
      request: SdkRequest,
      { abortSignal, requestTimeout }: HandleOptions = {},
    ): Promise<{ response: SdkResponse }> {
      const sockets = socketsFor(request.protocol)
      const looking = sockets.ready()
      if (looking !== undefined) await looking
      const signal = abortSignal && withListeners(abortSignal)
      if (signal?.aborted) throw abortError(signal)
      const timeoutMs = requestTimeout || answerTimeoutMs
      const bounds = { connectTimeoutMs, answerTimeoutMs: timeoutMs, signal }
      return { response: await exchange(sockets, request, bounds) }
    },
    destroy() {
      https.agent.destroy()
      http?.agent.destroy()
    },
    // The SDK passes its logger and a timeout for sockets, which we do not need.
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  }
}

type HandleOptions = {
  readonly abortSignal?: GivenSignal | undefined
  readonly requestTimeout?: number | undefined
}

/** The SDK lets callers bring an `AbortSignal`, a polyfill of it, or one with a single handler. */
type GivenSignal = {
  readonly aborted: boolean
  readonly reason?: unknown
  onabort?: unknown
}

/** Goes by the signal's methods, not by its class: a signal from another realm has another class. */
function withListeners(given: GivenSignal): AbortSignal {
  if ('addEventListener' in given) return given as AbortSignal
  const controller = new AbortController()
  const abort = () => controller.abort(given.reason)
  if (given.aborted) abort()
  else given.onabort = abort
  return controller.signal
}
