// Sends the requests of an AWS client in place of the SDK's own handler: it reuses connections without losing
// requests on dead ones, bounds the time of every answer up to its last byte, and tells a request that never left
// (`RequestNotSentError`) from one whose fate is unknown.
//
//   connecting ──nothing has left yet──▶ established ──request sent──▶ answered ──▶ idle ──▶ used again, or closed if stale
//       └──late or failed: not sent          └──late, failed or aborted: it may have been carried out

import type { Agent, ClientRequest, IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  abortError,
  afterReading,
  answerTimeoutsMs,
  RequestNotSentError,
  timeoutError,
} from './failures.ts'

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

/** What the SDK hands to its request handler. */
export type SdkRequest = {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number | undefined
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string | readonly string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** What the SDK expects in return. */
type SdkResponse = {
  readonly statusCode: number
  readonly reason: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array | Readable
}

type Bounds = {
  readonly connectTimeoutMs: number
  readonly answerTimeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Twice the largest possible object, a segment of 250 items of 256 KiB. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024

/**
 * One request and its whole answer. Rejects with `RequestNotSentError` if no part of the request left. After any
 * other error, the request may have been carried out, or may still be. The deadline holds up to the last byte of the
 * answer, because a body can stall just like the headers.
 */
function exchange(
  sockets: Sockets,
  request: SdkRequest,
  { connectTimeoutMs, answerTimeoutMs, signal }: Bounds,
): Promise<SdkResponse> {
  return new Promise((resolve, reject) => {
    const host = request.hostname
    const outgoing = send(sockets, request)
    let isOver = false
    let mayHaveLeft = false

    const end = () => {
      isOver = true
      clearTimeout(deadline)
      signal?.removeEventListener('abort', onAbort)
    }
    const fail = (error: unknown) => {
      if (isOver) return
      end()
      // Also destroy its connection, on which the answer to this request may still come.
      outgoing.destroy()
      reject(mayHaveLeft || signal?.aborted ? error : new RequestNotSentError(host, error))
    }
    const onAbort = () => fail(abortError(signal as AbortSignal))
    const onLate = () => fail(timeoutError(`no answer from ${host} within ${answerTimeoutMs} ms`))

    const deadline = afterReading(answerTimeoutMs, onLate)
    signal?.addEventListener('abort', onAbort)
    outgoing.on('error', fail)
    outgoing.once('socket', (socket) => {
      mayHaveLeft = !sockets.isConnecting(socket)
      if (mayHaveLeft) return
      const late = afterReading(connectTimeoutMs, () => {
        if (!mayHaveLeft) fail(timeoutError(`not connected within ${connectTimeoutMs} ms`))
      })
      outgoing.once('close', () => clearTimeout(late))
      socket.once(sockets.establishedBy, () => {
        mayHaveLeft = true
        clearTimeout(late)
      })
    })
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
        else fail(new Error(`an answer from ${host} of more than ${ANSWER_BYTES_MAX} bytes`))
      })
      incoming.on('error', fail)
      incoming.once('end', () => {
        if (isOver) return
        end()
        resolve(responseOf(request, incoming, chunks))
      })
    })
  })
}

function responseOf(
  { headers: asked }: SdkRequest,
  { statusCode = 0, statusMessage = '', headers }: IncomingMessage,
  chunks: readonly Buffer[],
): SdkResponse {
  const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  return {
    statusCode,
    reason: statusMessage,
    // Only cookies come as a list.
    headers: headers as Record<string, string>,
    // AWS's JSON protocols name their operation in this header, and read bytes. For the contents of an
    // object the SDK insists on a stream.
    body:
      'x-amz-target' in asked
        ? new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
        : Readable.from(whole, { objectMode: false }),
  }
}

/** Sends a request of the SDK as a request of Node. */
function send({ agent, request }: Sockets, sdkRequest: SdkRequest): ClientRequest {
  const body = bodyOf(sdkRequest)
  const { hostname, port, method } = sdkRequest
  const outgoing = request({
    agent,
    // Without the brackets of an IPv6 address.
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port,
    method,
    path: pathOf(sdkRequest),
    headers: headersOf(sdkRequest),
  })
  if (!(body instanceof Readable)) return outgoing.end(body)
  body.once('error', (error) => outgoing.destroy(error))
  return body.pipe(outgoing)
}

function bodyOf({ body }: SdkRequest): string | Uint8Array | Readable | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable) {
    return body
  }
  throw new TypeError('Cannot send a body that is neither text nor bytes nor a stream of Node')
}

function pathOf({ path, query }: SdkRequest): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === null ? encode(name) : [value].flat().map((one) => `${encode(name)}=${encode(one)}`),
  )
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

/** As AWS signs it. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)

/**
 * With a large body, S3's client first asks whether it may send it (`Expect: 100-continue`). Our bodies are a
 * few megabytes, for a bucket that takes them: sending them at once saves a round trip. The header is never
 * part of the signature.
 */
function headersOf({ headers }: SdkRequest): Readonly<Record<string, string>> {
  if (!('Expect' in headers)) return headers
  const { Expect: _, ...others } = headers
  return others
}

type SocketOptions = {
  readonly socketsMax: number
  readonly idleMsMax: number
  /** The wall clock: it goes on while a process is frozen. */
  readonly nowMs: () => number
}

/**
 * Lambda freezes a process between two calls. Meanwhile the other end may close an idle connection, or a
 * device on the way may forget it, and the frozen process does not notice. A request that it writes to such
 * a socket after the thaw is lost, and nobody can tell whether it was carried out. So a socket that has
 * been idle
 *
 * - for longer than `idleMsMax`, or since a time in the future, is closed and not used;
 * - for a millisecond or more is used only after the event loop has read its input: its end may have
 *   arrived already, and otherwise the next call could come before the loop reads it.
 */
export class Sockets {
  readonly agent: Agent
  readonly request: typeof request
  /** No part of a request leaves before a new socket emits this. */
  readonly establishedBy: 'connect' | 'secureConnect'
  readonly #connecting = new WeakSet<object>()
  readonly #options: SocketOptions
  readonly #idleSinceMs = new WeakMap<object, number>()

  constructor(protocol: 'http:' | 'https:', options: SocketOptions) {
    this.#options = options
    // Never an `import` of node:http: as an ES module it loads workers and undici, 16 ms of a cold start.
    const { Agent, request } =
      protocol === 'http:'
        ? process.getBuiltinModule('node:http')
        : process.getBuiltinModule('node:https')
    this.request = request
    this.establishedBy = protocol === 'http:' ? 'connect' : 'secureConnect'
    this.agent = new Agent({ keepAlive: true, maxSockets: options.socketsMax })
    // Watch it from the start, because a socket can connect while no request holds it: the request for
    // which it was made may have been given up meanwhile.
    const create = this.agent.createConnection.bind(this.agent)
    this.agent.createConnection = (...how) => {
      const socket = create(...how)
      if (socket) {
        this.#connecting.add(socket)
        socket.once(this.establishedBy, () => this.#connecting.delete(socket))
      }
      return socket
    }
    const keep = this.agent.keepSocketAlive.bind(this.agent)
    this.agent.keepSocketAlive = (socket) => {
      // No request waits for it any more, and it may never connect.
      if (this.#connecting.has(socket)) return false
      this.#idleSinceMs.set(socket, options.nowMs())
      return keep(socket)
    }
  }

  /**
   * Whether nothing can have left on this socket yet. A socket that we do not know counts as established,
   * because a request that was carried out must never pass for one that was not sent.
   */
  isConnecting(socket: Socket): boolean {
    return this.#connecting.has(socket)
  }

  /** Resolves when idle connections may be used; `undefined` means at once. */
  ready(): Promise<void> | undefined {
    return this.#closeStale() > 0 ? this.#look() : undefined
  }

  async #look(): Promise<void> {
    // The loop may be past its sockets in this turn: the next one reads them before it ends.
    await endOfTurn()
    await endOfTurn()
    this.#closeStale()
  }

  /** Closes stale sockets; returns for how long the socket that the agent would use next has been idle, or 0. */
  #closeStale(): number {
    const { idleMsMax, nowMs } = this.#options
    const now = nowMs()
    let nextIdleMs = 0
    for (const sockets of Object.values(this.agent.freeSockets)) {
      let lastIdleMs = 0
      // Iterate over a copy, because a closed socket leaves the list. The agent takes the last one first.
      for (const socket of [...(sockets ?? [])]) {
        const idleMs = now - (this.#idleSinceMs.get(socket) ?? Number.NEGATIVE_INFINITY)
        if (idleMs >= 0 && idleMs <= idleMsMax && isOpen(socket)) lastIdleMs = idleMs
        else close(socket)
      }
      nextIdleMs = Math.max(nextIdleMs, lastIdleMs)
    }
    return nextIdleMs
  }
}

const isOpen = ({ destroyed, readable, writable }: Socket): boolean =>
  !destroyed && readable && writable

function close(socket: Socket): void {
  socket.destroy()
  // The agent would notice only a turn later, and use the socket meanwhile.
  socket.emit('agentRemove')
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
