import type { HttpEvent } from '../../../lambdas/http/stack.ts'

/** An event as the gateway sends it, for a route and its path parameters. */
export const anEvent = (
  routeKey: string,
  pathParameters: Readonly<Record<string, string>>,
  more: object = {},
): HttpEvent =>
  ({
    version: '2.0',
    routeKey,
    rawPath: routeKey
      .replace(/^\w+ /, '')
      .replace(/\{(\w+)\}/g, (_, name) => pathParameters[name] ?? ''),
    rawQueryString: '',
    headers: { 'content-type': 'application/json' },
    pathParameters,
    requestContext: { requestId: 'gateway-id', stage: '$default' },
    isBase64Encoded: false,
    ...more,
  }) as unknown as HttpEvent
