import type { APIGatewayProxyEventV2, Context } from 'aws-lambda'
import type { Tally } from '../runtime/tally.ts'
import type { Endpoint } from './endpoint.ts'
import type { HttpErrorCode } from './error-table.ts'
import type { ParameterKinds } from './parameters.ts'
import type { Route } from './routes.ts'

/** An event as the gateway sends it. Invoked by hand, any part of it may be missing. */
export type HttpEvent = Partial<APIGatewayProxyEventV2>

/** One request on its way through the stack: each step adds what the next ones need. */
export type Exchange = {
  readonly event: HttpEvent
  readonly context: Partial<Context>
  readonly requestId: string
  readonly startedMs: number
  readonly tally: Tally
  target?: Target
  /** Set once it is known to be an id: anything else may be a secret and belongs in no log. */
  queue?: string
  /** Of a rate limit, once it is known to be one. */
  rateKey?: string
  /** The text in its place: nobody has checked yet whether it is a ticket. */
  ticket?: string
  /** The text in the place of a schedule's name: the engine checks it. */
  schedule?: string
  parameters?: Record<string, unknown>
  /** The body's text, then what it says. */
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
