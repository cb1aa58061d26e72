import type { Context } from 'aws-lambda'
import { routes } from '../../../lambdas/http/routes.ts'
import type { HttpEvent, HttpHandler } from '../../../lambdas/http/stack.ts'
import type { FunctionName } from '../../../lambdas/runtime/names.ts'
import { newRequestId, RouteTable, requestEvent } from '../../../local/gateway/requests.ts'
import type { RoutePlan } from '../../../local/template/plan-api.ts'
import { type Call, withJson } from './call.ts'

export type Handlers = Readonly<Record<HttpFunctionName, HttpHandler>>
export type HttpFunctionName = Exclude<FunctionName, 'ReturnExpiredLocks' | 'Housekeep'>

const functionOf = new Map<string, HttpFunctionName>([
  ...routes.map(
    ({ method, path, function: name }) => [`${method} ${path}`, name as HttpFunctionName] as const,
  ),
  ['$default', 'Health'],
])

/** For a client whose requests go to the handlers of this process. */
export const fetchBy =
  (call: Call): typeof fetch =>
  async (input, { method = 'GET', headers, body } = {}) => {
    const { pathname, search } = new URL(String(input))
    const answer = await call(method, pathname, {
      headers: Object.fromEntries(new Headers(headers)),
      ...(search !== '' && { query: search.slice(1) }),
      ...(typeof body === 'string' && { body }),
    })
    return new Response(answer.text, answer)
  }

/** Requests as the gateway would hand them over, straight to the handlers. */
export function handlerCall(handlers: Handlers, context: Partial<Context> = {}): Call {
  const table = new RouteTable([...functionOf.keys()].map((key) => ({ key }) as RoutePlan))
  return async (method, path, options = {}) => {
    const { headers = {}, body, query } = withJson(options)
    const match = table.match(method, path)
    if (match === undefined) throw new Error(`No route for ${method} ${path}`)
    const request = {
      method,
      target: query === undefined ? path : `${path}?${query}`,
      httpVersion: '1.1',
      rawHeaders: Object.entries({ host: 'localhost', ...headers }).flat(),
      body: Buffer.from(body ?? ''),
      sourceIp: '127.0.0.1',
      port: 8000,
    }
    const gateway = { apiId: 'api', requestId: newRequestId(), nowMs: Date.now() }
    const event = requestEvent(request, match, gateway) as HttpEvent
    const handler = handlers[functionOf.get(match.route.key) as HttpFunctionName]
    const answer = await handler(event, context)
    return { status: answer.statusCode, headers: answer.headers, text: answer.body }
  }
}
