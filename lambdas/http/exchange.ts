import type { APIGatewayProxyEventV2, Context } from 'aws-lambda'
import type { Tally } from '../runtime/tally.ts'
import type { Endpoint } from './endpoint.ts'
import type { HttpErrorCode } from './error-table.ts'
import type { ParameterKinds } from './parameters.ts'
import type { Route } from './routes.ts'

/** An event as the gateway sends it. If somebody invokes the function by hand, any part of it may be missing. */
export type HttpEvent = Partial<APIGatewayProxyEventV2>

/** One request on its way through the stack: each step adds what the next ones need. */
export type Exchange = {
  readonly event: HttpEvent
  readonly context: Partial<Context>
  readonly requestId: string
  readonly startedMs: number
  readonly tally: Tally
  target?: Target
  /** Set once we know that it is an id: anything else may be a secret and does not belong in a log. */
  queue?: string
  /** A rate limit's key, once we know that it is one. */
  rateKey?: string
  /** The text where the ticket belongs; nobody has checked it yet. */
  ticket?: string
  /** The text where a schedule's name belongs; the engine checks it. */
  schedule?: string
  parameters?: Record<string, unknown>
  /** The body's text; then, below, its fields. */
  text?: string
  body?: Record<string, unknown>
  errorCode?: HttpErrorCode
}

/** Where a request goes. */
export type Target = {
  /** As the gateway names it: `POST /queue/{id}/push`. */
  readonly key: string
  readonly route: Pick<Route, 'path'> & { readonly method: Route['method'] | 'OPTIONS' }
  readonly endpoint: Endpoint
  readonly kinds: ParameterKinds
}
