// HTTP in, API Gateway's event to a function, and its answer back.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { foreignRequest } from '../foreign-pages/foreign-request.ts'
import type { LogLine, Outcome } from '../functions/messages.ts'
import type { ApiPlan, RoutePlan } from '../template/plan-api.ts'
import { allowedAs, corsHeaders, preflight } from './cors.ts'
import {
  FORBIDDEN,
  functionResponse,
  gatewayResponse,
  type HttpResponse,
  internalServerError,
  refused,
} from './function-response.ts'
import { listen } from './listen.ts'
import { type GatewayRequest, newRequestId, requestEvent, splitTarget } from './request-event.ts'
import { RouteTable } from './route-table.ts'

export type Service = {
  readonly api: ApiPlan
  /** Runs the route's function, unless the event has not begun by then. */
  readonly invoke: (route: RoutePlan, event: string, expiresAtMs: number) => Promise<Outcome>
  readonly onRequest: (request: RequestRecord) => void
}

export type RequestRecord = {
  readonly atMs: number
  readonly method: string
  readonly path: string
  readonly status: number
  readonly durationMs: number
  readonly summary?: LogLine | undefined
  /** The port at which the request came in, unless it is the first API's. */
  readonly otherPort?: number | undefined
}

export type Gateway = {
  readonly port: number
  /** Requests that came earlier wait for this. */
  open(service: Service): void
  close(graceMs: number): Promise<void>
}

/** API Gateway's limit of a request. */
const BODY_BYTES_MAX = 10 * 1024 * 1024
/** Lambda's limit of an event, as JSON. */
const EVENT_BYTES_MAX = 6 * 1024 * 1024

export async function startGateway(port: number, apiName?: string): Promise<Gateway> {
  const ready = Promise.withResolvers<{ service: Service; table: RouteTable }>()
  let isOpen = false
  let isClosing = false

  const onRequest: RequestListener = async (request, response) => {
    const atMs = Date.now()
    const startedMs = performance.now()
    const { service, table } = await ready.promise
    const [path] = splitTarget(request.url ?? '/')
    const served: Served = await serve(request, path, service, table, listener.port).catch(() => ({
      response: internalServerError,
    }))
    // The client went away in the middle of its request.
    if (request.errored) return
    // The client must not find the connection gone when it sends its next request.
    if (isClosing) response.shouldKeepAlive = false
    const { cors } = service.api
    // The answer to a preflight has these headers already, and a browser refuses an origin named twice.
    const extra = cors && !served.isPreflight ? corsHeaders(cors, request.headers) : []
    const status = write(response, served.response, extra)
    service.onRequest({
      atMs,
      method: request.method ?? '',
      path,
      status,
      durationMs: performance.now() - startedMs,
      ...('summary' in served && { summary: served.summary }),
      ...(apiName !== undefined && { otherPort: listener.port }),
    })
  }
  const listener = await listen(port, onRequest, apiName)

  return {
    port: listener.port,
    open(service) {
      isOpen = true
      ready.resolve({ service, table: new RouteTable(service.api.routes) })
    },
    close(graceMs) {
      isClosing = true
      // Until it is open, it serves nobody.
      return listener.close(isOpen ? graceMs : 0)
    },
  }
}

type Served = {
  readonly response: HttpResponse
  readonly summary?: LogLine | undefined
  readonly isPreflight?: true | undefined
}

async function serve(
  request: IncomingMessage,
  path: string,
  { api, invoke }: Service,
  table: RouteTable,
  port: number,
): Promise<Served> {
  const method = request.method ?? ''
  const { headers } = request
  const reason = foreignRequest({ method, headers }, port, (origin) =>
    api.cors === undefined ? false : allowedAs(api.cors, origin) !== undefined,
  )
  if (reason !== undefined) {
    return { response: refused(reason, newRequestId()), summary: { error_code: FORBIDDEN } }
  }
  const body = await readBody(request)
  if (!body) return { response: gatewayResponse(413, 'Request Entity Too Large') }
  const answer = api.cors && preflight(api.cors, method, headers)
  if (answer) return { response: answer, isPreflight: true }
  const match = table.match(method, path)
  if (!match) return { response: gatewayResponse(404, 'Not Found') }

  const nowMs = Date.now()
  const requestId = newRequestId()
  const received: GatewayRequest = {
    method,
    target: request.url ?? '/',
    httpVersion: request.httpVersion,
    rawHeaders: request.rawHeaders,
    body,
    sourceIp: (request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
    port,
  }
  const event = JSON.stringify(requestEvent(received, match, { apiId: api.id, requestId, nowMs }))
  if (event.length > EVENT_BYTES_MAX / 3 && Buffer.byteLength(event) > EVENT_BYTES_MAX) {
    return { response: gatewayResponse(413, 'Request Entity Too Large') }
  }
  const { timeoutMs } = match.route
  const outcome = await withLimit(timeoutMs, invoke(match.route, event, nowMs + timeoutMs))
  const { summary } = outcome
  return {
    response: responseOf(outcome, requestId),
    summary,
  }
}

/** When the time is over the function goes on, as on AWS, but nobody listens any more. */
async function withLimit(ms: number, outcome: Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const impatience = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'throttled' }), ms)
  })
  const first = await Promise.race([outcome, impatience])
  clearTimeout(timer)
  return first
}

function responseOf(outcome: Outcome, requestId: string): HttpResponse {
  const response = responseTo(outcome)
  return { ...response, headers: [...response.headers, ['apigw-requestid', requestId]] }
}

function responseTo(outcome: Outcome): HttpResponse {
  switch (outcome.kind) {
    case 'answered':
      return functionResponse(outcome.payload)
    case 'failed':
      return internalServerError
    case 'throttled':
      return gatewayResponse(503, 'Service Unavailable')
    default:
      return outcome satisfies never
  }
}

/** `undefined` for a body that is too large; we read the rest of it and throw it away. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) resolve(undefined)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

function write(
  response: ServerResponse,
  { status, headers, body }: HttpResponse,
  extra: readonly (readonly [string, string])[],
): number {
  const bytes = ['content-length', String(Buffer.byteLength(body))] as const
  try {
    response.writeHead(status, [...headers, ...extra, bytes].flat())
    response.end(body)
    return status
  } catch {
    // A name or a value that HTTP does not allow.
    const { status: ours, headers: plain, body: message } = internalServerError
    response.writeHead(ours, plain.flat())
    response.end(message)
    return ours
  }
}
