// A request as API Gateway sees it: which route it takes, and the event (version 2.0 of the payload) that it becomes.

import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { newTraceId } from '../functions/function-process.ts'
import { ACCOUNT, REGION } from '../template/identities.ts'
import type { RoutePlan } from '../template/plan-api.ts'

export type GatewayRequest = {
  readonly method: string
  /** With the query, as it came. */
  readonly target: string
  readonly httpVersion: string
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly sourceIp: string
  readonly port: number
}

/** API Gateway's own, 15 characters of base64 and a sign. */
export const newRequestId = (): string => `${randomBytes(11).toString('base64').slice(0, 15)}=`

export function requestEvent(
  request: GatewayRequest,
  { route, pathParameters }: RouteMatch,
  { apiId, requestId, nowMs }: { apiId: string; requestId: string; nowMs: number },
) {
  const { headers, cookies } = readHeaders(request.rawHeaders)
  const [path, rawQueryString] = splitTarget(request.target)
  // API Gateway decodes the path with its variables; function URLs and REST APIs do not.
  const rawPath = decode(path)
  const domainPrefix = apiId
  headers['x-amzn-trace-id'] ??= newTraceId()
  headers['x-forwarded-for'] = appended(headers['x-forwarded-for'], request.sourceIp)
  headers['x-forwarded-port'] = String(request.port)
  headers['x-forwarded-proto'] = 'http'
  // As text, bytes that are not UTF-8 would turn into other characters, and the function could not tell.
  const isBase64Encoded =
    request.body.length > 0 && !(isText(headers['content-type']) && isUtf8(request.body))
  return {
    version: '2.0',
    routeKey: route.key,
    rawPath,
    rawQueryString,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(rawQueryString !== '' && { queryStringParameters: readQuery(rawQueryString) }),
    requestContext: {
      accountId: ACCOUNT,
      apiId,
      domainName: `${domainPrefix}.execute-api.${REGION}.amazonaws.com`,
      domainPrefix,
      http: {
        method: request.method,
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.sourceIp,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId,
      routeKey: route.key,
      stage: '$default',
      time: formatTime(nowMs),
      timeEpoch: nowMs,
    },
    pathParameters,
    ...(request.body.length > 0 && {
      body: request.body.toString(isBase64Encoded ? 'base64' : 'utf8'),
    }),
    isBase64Encoded,
  }
}

function readHeaders(raw: readonly string[]) {
  // Without a prototype: a header may be called `constructor`.
  const headers: Record<string, string> = Object.create(null)
  const cookies: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const value = raw[at + 1] ?? ''
    // Version 2.0 has a separate field for cookies.
    if (name === 'cookie') cookies.push(...value.split(';').map((cookie) => cookie.trim()))
    else headers[name] = appended(headers[name], value)
  }
  return { headers, cookies: cookies.filter((cookie) => cookie !== '') }
}

const appended = (before: string | undefined, value: string) =>
  before === undefined ? value : `${before},${value}`

function readQuery(query: string): Record<string, string> {
  const parameters: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    parameters[name] = appended(parameters[name], value)
  }
  return parameters
}

export function splitTarget(target: string): [path: string, query: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

/** Bodies of all other types come in base64, and so do forms and bodies without a type (seen on AWS). */
const textTypes = new Set(['application/json', 'application/javascript', 'application/xml'])

function isText(contentType = ''): boolean {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return type.startsWith('text/') || textTypes.has(type)
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `12/Mar/2020:19:03:58 +0000` */
function formatTime(ms: number): string {
  const iso = new Date(ms).toISOString()
  const month = months[Number(iso.slice(5, 7)) - 1]
  return `${iso.slice(8, 10)}/${month}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`
}

type RouteMatch = {
  readonly route: RoutePlan
  /** Decoded; absent where the route has no variables. */
  readonly pathParameters?: Readonly<Record<string, string>> | undefined
}

type Segment =
  | { readonly kind: 'fixed'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'greedy'; readonly name: string }

type Entry = {
  readonly route: RoutePlan
  readonly method: string
  readonly segments: readonly Segment[]
}

/**
 * By API Gateway's order: a path with fixed segments before one with variables, a greedy variable (`{proxy+}`) last, a
 * method before ANY, and `$default` for what nothing else takes. A path that is there with other methods only is
 * `$default`'s too: API Gateway knows no 405.
 */
export class RouteTable {
  readonly #entries: readonly Entry[]
  readonly #default: RoutePlan | undefined

  constructor(routes: readonly RoutePlan[]) {
    this.#default = routes.find(({ key }) => key === '$default')
    this.#entries = routes
      .filter(({ key }) => key !== '$default')
      .map(parse)
      .sort((a, b) => comparePlaces(placeOf(a), placeOf(b)))
  }

  /** `path` as it came, without the query. */
  match(method: string, path: string): RouteMatch | undefined {
    const parts = path.split('/').slice(1)
    for (const { route, method: wanted, segments } of this.#entries) {
      if (wanted !== method && wanted !== 'ANY') continue
      const pathParameters = matchSegments(segments, parts)
      if (!pathParameters) continue
      return Object.keys(pathParameters).length > 0 ? { route, pathParameters } : { route }
    }
    return this.#default && { route: this.#default }
  }
}

function parse(route: RoutePlan): Entry {
  const [method = '', path = ''] = route.key.split(' ')
  const segments = path
    .split('/')
    .slice(1)
    .map((text): Segment => {
      const variable = /^\{(.+?)(\+?)\}$/.exec(text)
      if (!variable) return { kind: 'fixed', text }
      return { kind: variable[2] ? 'greedy' : 'variable', name: variable[1] ?? '' }
    })
  return { route, method, segments }
}

const ranks = { fixed: 0, variable: 1, greedy: 2 } as const

/** Compared number by number, the lower first. */
const placeOf = ({ segments, method }: Entry): readonly number[] => [
  ...segments.map(({ kind }) => ranks[kind]),
  // Higher than every rank: where one path ends and the other goes on, they cannot fit the same request,
  // unless the longer ends in a greedy variable.
  3,
  method === 'ANY' ? 1 : 0,
]

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    const difference = number - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function matchSegments(
  segments: readonly Segment[],
  parts: readonly string[],
): Record<string, string> | undefined {
  const last = segments.at(-1)
  if (last?.kind === 'greedy' ? parts.length < segments.length : parts.length !== segments.length) {
    return undefined
  }
  const found: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? ''
    switch (segment.kind) {
      case 'fixed':
        if (part !== segment.text) return undefined
        break
      case 'variable':
        if (part === '') return undefined
        found[segment.name] = decode(part)
        break
      case 'greedy':
        found[segment.name] = decode(parts.slice(index).join('/'))
        break
      default:
        segment satisfies never
    }
  }
  return found
}

/** Leaves invalid encoding as it came: the function can answer it better than we can. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
