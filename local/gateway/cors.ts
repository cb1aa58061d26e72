// If the API has CORS settings, API Gateway answers a browser's preflight by itself, and adds to every
// answer the headers that the browser wants. The functions do not take part.

import type { CorsPlan } from '../template/plan-api.ts'
import type { HttpResponse } from './function-response.ts'

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
export const allowedAs = (cors: CorsPlan, origin: string): string | undefined =>
  cors.allowOrigins.find((pattern) => matches(pattern, origin))

/** `*`, `https://*` or an origin in full. */
const matches = (pattern: string, origin: string) =>
  pattern.endsWith('*') ? origin.startsWith(pattern.slice(0, -1)) : pattern === origin
