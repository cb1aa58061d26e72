// API Gateway's HTTP APIs: a request becomes an event of a function, and what it returns becomes the answer, by the
// rules for version 2.0 of the payload. Pages are answered as the API's CORS settings say; the functions take no part
// in that.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { LogLine, Outcome } from '../functions/messages.ts'
import { foreignRequest, listen } from '../loopback.ts'
import { isObject } from '../template/assembly.ts'
import type { ApiPlan, CorsPlan, RoutePlan } from '../template/plan-api.ts'
import {
  type GatewayRequest,
  newRequestId,
  RouteTable,
  requestEvent,
  splitTarget,
} from './requests.ts'

export type Gateways = {
  /** The address of the first API. */
  readonly url: string
  /** Listens for the others as well. Requests wait for `open`. */
  add(apis: readonly ApiPlan[]): Promise<void>
  /** The addresses of all APIs, by logical id. */
  readonly urls: Readonly<Record<string, string>>
  open(service: Omit<Service, 'api'>): void
  close(graceMs: number): Promise<void>
}

/** Then every request is a 404. */
const NO_API: ApiPlan = { name: 'none', id: 'none', routes: [] }

/**
 * The HTTP APIs of a template, each on its own port. The first gets the requested port, before we know about the
 * others: a port that is taken is the most likely problem. The others get the ports after it.
 */
export async function startGateways(port: number): Promise<Gateways> {
  const first = await startGateway(port)
  const gateways: Gateway[] = [first]
  let apis: readonly ApiPlan[] = []
  const gatewayOf = (index: number) => gateways[index] as Gateway
  return {
    url: urlOf(first),
    async add(all) {
      apis = all
      for (const [index, { name }] of all.entries()) {
        if (index === 0) continue
        gateways.push(await startGateway(port === 0 ? 0 : first.port + index, name))
      }
    },
    get urls() {
      return Object.fromEntries(apis.map(({ name }, index) => [name, urlOf(gatewayOf(index))]))
    },
    open(service) {
      for (const [index, gateway] of gateways.entries()) {
        gateway.open({ ...service, api: apis[index] ?? NO_API })
      }
    },
    async close(graceMs) {
      await Promise.all(gateways.map((gateway) => gateway.close(graceMs)))
    },
  }
}

const urlOf = ({ port }: Gateway): string => `http://localhost:${port}`

type Service = {
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

type HttpResponse = {
  readonly status: number
  /** Names in lower case; a name may come several times. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Buffer
}

const json = [['content-type', 'application/json']] as const

/** API Gateway's own answers. */
const gatewayResponse = (status: number, message: string): HttpResponse => ({
  status,
  headers: json,
  body: JSON.stringify({ message }),
})

/** An error of the local stack itself, in PushPop's shape: API Gateway has nothing like it. */
export const refused = (message: string, requestId: string): HttpResponse => ({
  status: 403,
  headers: [...json, ['apigw-requestid', requestId]],
  body: JSON.stringify({
    success: false,
    error_code: FORBIDDEN,
    message,
    retryable: false,
    request_id: requestId,
  }),
})

export const FORBIDDEN = 'FORBIDDEN'

const internalServerError = gatewayResponse(500, 'Internal Server Error')

/** `payload` is the JSON that the function returned. */
export function functionResponse(payload: string): HttpResponse {
  const answer: unknown = JSON.parse(payload)
  if (!isObject(answer) || answer.statusCode === undefined) {
    // It returned a value and nothing about HTTP.
    return { status: 200, headers: json, body: typeof answer === 'string' ? answer : payload }
  }
  const { statusCode, headers = {}, cookies = [], body = '', isBase64Encoded } = answer
  const status = Number(statusCode)
  const isWellFormed =
    Number.isInteger(status) &&
    status >= 200 &&
    status <= 599 &&
    isObject(headers ?? {}) &&
    Array.isArray(cookies ?? []) &&
    (typeof body === 'string' || body === null)
  if (!isWellFormed) return internalServerError
  const text = typeof body === 'string' ? body : ''
  return {
    status,
    headers: [
      ...readHeaders(headers),
      ...((cookies ?? []) as unknown[]).map((cookie) => ['set-cookie', String(cookie)] as const),
    ],
    body: isBase64Encoded === true ? Buffer.from(text, 'base64') : text,
  }
}

/** The gateway manages the connection, so it drops these. */
const notTheFunctions = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding'])

function readHeaders(headers: unknown): (readonly [string, string])[] {
  const read = Object.entries(headers ?? {})
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
    .filter(([name]) => !notTheFunctions.has(name))
  if (read.some(([name]) => name === 'content-type')) return read
  return [['content-type', 'text/plain;charset=UTF-8'], ...read]
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export function preflight(
  cors: CorsPlan,
  method: string,
  asked: Headers,
): HttpResponse | undefined {
  if (method !== 'OPTIONS' || asked['access-control-request-method'] === undefined) return undefined
  const lists = [
    ['access-control-allow-methods', cors.allowMethods],
    ['access-control-allow-headers', cors.allowHeaders],
  ] as const
  return {
    status: 204,
    headers: [
      ...corsHeaders(cors, asked),
      ...lists
        .filter(([, values]) => values.length > 0)
        .map(([name, values]) => [name, values.join(',')] as const),
      ...(cors.maxAgeSeconds === undefined
        ? []
        : [['access-control-max-age', String(cors.maxAgeSeconds)] as const]),
    ],
    body: '',
  }
}

/** For every answer to a page that may call. */
export function corsHeaders(cors: CorsPlan, asked: Headers): (readonly [string, string])[] {
  const origin = asked.origin
  if (typeof origin !== 'string') return []
  const allowed = allowedAs(cors, origin)
  if (allowed === undefined) return []
  return [
    ['access-control-allow-origin', allowed === '*' ? '*' : origin],
    ...(cors.allowCredentials ? [['access-control-allow-credentials', 'true'] as const] : []),
    ...(cors.exposeHeaders.length > 0
      ? [['access-control-expose-headers', cors.exposeHeaders.join(',')] as const]
      : []),
  ]
}

/** The pattern that lets a page of this origin call, if there is one. */
const allowedAs = (cors: CorsPlan, origin: string): string | undefined =>
  cors.allowOrigins.find((pattern) => matches(pattern, origin))

/** `*`, `https://*` or an origin in full. */
const matches = (pattern: string, origin: string) =>
  pattern.endsWith('*') ? origin.startsWith(pattern.slice(0, -1)) : pattern === origin
