// An HTTP request as API Gateway's HTTP API hands it to a function: version 2.0 of the payload.

import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { newTraceId } from '../functions/function-process.ts'
import { ACCOUNT, REGION } from '../template/identities.ts'
import { decode, type RouteMatch } from './route-table.ts'

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
