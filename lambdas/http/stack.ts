// The one stack of every HTTP function. The order, and why:
//
//   observed        outermost, so that it sees every answer: one log line each, metrics in it
//   answered        turns every error thrown below into the one shape of errors, and puts the
//                   request id on every answer; outside of it, nothing may throw
//   routed          finds the endpoint and the queue, on which all later steps depend
//   parametersRead  cheap to check, and a body need not be read for a request that fails here
//   bodyRead        its type before its size before its text: each guards the next, more costly one
//   bodyChecked     fields against the schema, so that the endpoint sees checked values only
//
// The engine checks again what the schemas checked: it is used without HTTP as well.

import { default as middy } from '@middy/core'
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { checkQueueId } from '../../shared/errors.ts'
import { describeError, type Log, stopwatch, Tally, usageOf, withTally } from '../runtime/log.ts'
import { type FunctionName, SLOW_CALL_MS } from '../runtime/names.ts'
import { type Answer, errorAnswer, type HttpErrorCode, OutOfTime, RequestError } from './answer.ts'
import type { BodyCall, Call, CheckedRequest, Endpoint } from './endpoint.ts'
import {
  addHeaderParameters,
  bodyText,
  checkMediaType,
  checkNoForm,
  type ParameterKinds,
  parameterKinds,
  queryParameters,
  readBody,
  SMALL_BODY_BYTES_MAX,
  typedParameters,
} from './read-request.ts'
import { type Route, routes } from './routes.ts'
import { nothing } from './schemas/fields.ts'
import { validate } from './validate.ts'

/** An event as the gateway sends it. If somebody invokes the function by hand, any part of it may be missing. */
export type HttpEvent = Partial<APIGatewayProxyEventV2>

export type HttpHandler = (event: HttpEvent, context: Partial<Context>) => Promise<Answer>

/** By operation id. */
type Endpoints = Readonly<Record<string, Endpoint>>

/** Enough to write an answer and its log line. */
const ANSWER_BEFORE_END_MS = 1_000

export function httpHandler(name: FunctionName, log: Log, endpoints: Endpoints): HttpHandler {
  const stack = middy<Exchange, Answer>(
    (exchange: Exchange) => (exchange.target as Target).endpoint.act(checkedRequest(exchange)),
    {
      // The gateway gives up after 30 s and says nothing useful, so answer while the caller still listens.
      timeoutEarlyInMillis: ANSWER_BEFORE_END_MS,
      timeoutEarlyResponse: () => {
        throw new OutOfTime()
      },
    },
  )
    .use(observed(name, log))
    .use(answered(log))
    .use(routed(targetsOf(endpoints)))
    .use(parametersRead())
    .use(bodyRead())
    .use(bodyChecked())
  return (event, context) => {
    const tally = new Tally()
    const exchange: Exchange = {
      event,
      context,
      requestId: event.requestContext?.requestId ?? context.awsRequestId ?? 'none',
      startedMs: performance.now(),
      tally,
    }
    return withTally(tally, () => stack(exchange, context as Context))
  }
}

/** One request on its way through the stack: each step adds what the next ones need. */
type Exchange = {
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
type Target = {
  /** As the gateway names it: `POST /queue/{id}/push`. */
  readonly key: string
  readonly route: Pick<Route, 'path'> & { readonly method: Route['method'] | 'OPTIONS' }
  readonly endpoint: Endpoint
  readonly kinds: ParameterKinds
}

function checkedRequest(exchange: Exchange): CheckedRequest<Call> {
  const { event, queue = '', rateKey = '', ticket = '', schedule = '' } = exchange
  const { requestId, tally, parameters = {}, body = {} } = exchange
  return {
    queue,
    key: rateKey,
    ticket,
    schedule,
    requestId,
    receivedMs: event.requestContext?.timeEpoch,
    parameters: parameters as CheckedRequest<Call>['parameters'],
    body: body as CheckedRequest<Call>['body'],
    header: (name) => event.headers?.[name],
    tally,
  }
}

/** The gateway has this route if it admits pages of other sites; it is not part of the API. */
const preflight = {
  method: 'OPTIONS',
  path: '/{proxy+}',
  function: 'Health',
  operationId: 'preflight',
} as const

/** Endpoints by the gateway's name for their routes. */
function targetsOf(endpoints: Endpoints): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>()
  for (const route of [...routes, preflight]) {
    const endpoint = Object.hasOwn(endpoints, route.operationId)
      ? endpoints[route.operationId]
      : undefined
    if (endpoint === undefined) continue
    const kinds = parameterKinds(endpoint.call.parameters ?? nothing)
    const key = `${route.method} ${route.path}`
    targets.set(key, { key, route, endpoint, kinds })
  }
  return targets
}

/** One step of the stack. */
type Step = middy.MiddlewareObj<Exchange, Answer>
type StepRequest = middy.Request<Exchange, Answer>

/** One log line for every answer, with the metrics of what was done for it. */
function observed(name: FunctionName, log: Log): Step {
  let isFirst = true
  const finish = ({ event: exchange, response }: StepRequest): void => {
    const { event, requestId, target, queue, startedMs, tally } = exchange
    const status = response?.statusCode ?? 500
    const durationMs = stopwatch(startedMs)()
    // The function's duration includes the time for which callers ask to wait, so subtract that. Only a slow pop pays.
    const isSlow = durationMs - tally.heldMs > SLOW_CALL_MS
    if (name === 'Pop' && isSlow) tally.count('SlowPops', 1)
    if (status >= 500) tally.count('Errors5xx', 1)
    const fields = {
      request_id: requestId,
      function: name,
      route: target?.key ?? event.routeKey,
      queue,
      key: exchange.rateKey,
      status,
      duration_ms: durationMs,
      ...usageOf(tally),
      error_code: exchange.errorCode,
      invocation_id: exchange.context.awsRequestId,
      cold_start: isFirst || undefined,
    }
    isFirst = false
    const level = status === 500 ? 'error' : status > 500 ? 'warn' : 'info'
    // Metrics count for the time at which the call began, as Lambda's own do: a waiting call ends up to 20 s later.
    log.invocation(level, 'request', fields, tally, Math.round(Date.now() - durationMs))
  }
  return { after: finish, onError: finish }
}

/** Errors in their one shape, and the request id on every answer. */
function answered(log: Log): Step {
  return {
    after: (request) => {
      request.response = withRequestId(request.response as Answer, request.event.requestId)
    },
    onError: (request) => {
      const { event: exchange, error } = request
      const changes = exchange.target?.route.method !== 'GET'
      const { code, answer } = errorAnswer(error, exchange.requestId, changes)
      exchange.errorCode = code
      if (answer.statusCode >= 500) {
        log.write(answer.statusCode === 500 ? 'error' : 'warn', 'request failed', {
          request_id: exchange.requestId,
          error_code: code,
          queue: exchange.queue,
          key: exchange.rateKey,
          error: describeError(error),
        })
      }
      request.response = withRequestId(answer, exchange.requestId)
    },
  }
}

const withRequestId = (answer: Answer, requestId: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'x-request-id': requestId },
})

/** Finds the endpoint, and the queue, or the rate limit and the ticket. */
function routed(targets: ReadonlyMap<string, Target>): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      if (event.version !== '2.0') throw new Error(`Unexpected payload format: ${WANTED_FORMAT}`)
      const target = targets.get(event.routeKey ?? '')
      if (target === undefined) throw noSuchRoute(event)
      exchange.target = target
      const { path } = target.route
      // The gateway has decoded them; decoding again would turn `%2541` into another id.
      const { id, key, ticket, name } = event.pathParameters ?? {}
      if (path.includes('{id}')) {
        checkQueueId(id)
        exchange.queue = id as string
      }
      if (path.includes('{key}')) exchange.rateKey = checkedKey(key)
      if (path.includes('{ticket}')) exchange.ticket = ticket ?? ''
      if (path.includes('{name}')) exchange.schedule = name ?? ''
    },
  }
}

const WANTED_FORMAT = 'the integration must send payload format version 2.0'

/** A key is spelled like a queue id. We check it here, because other functions do not load the limiter. */
function checkedKey(key: string | undefined): string {
  if (isQueueId(key)) return key
  throw new RequestError('INVALID_PARAMETER', `A rate limit’s key must be ${ID_RULE}`, {
    field: 'key',
  })
}

/** The error for a request that matches no route: the method is wrong, or there is nothing at the address. */
function noSuchRoute(event: HttpEvent): RequestError {
  const methods = routes
    .filter(({ path }) => matches(path, pathOf(event)))
    .map(({ method }) => method)
  if (methods.length === 0) {
    return new RequestError('NOT_FOUND', nothingHere)
  }
  const allow = methods.join(', ')
  return new RequestError('METHOD_NOT_ALLOWED', `This address takes ${allow} only`, {
    headers: { allow },
  })
}

/** Names the calls that callers look for first; the page in the repository has them all. */
const nothingHere =
  'There is nothing at this address. Calls are such as POST /queue/{id}/push, /pop and /acknowledge, and ' +
  'GET /queues; docs/api.md in the repository of PushPop has them all'

/** The gateway puts a stage's name before the path, unless it is the default one. */
function pathOf({ rawPath = '', requestContext }: HttpEvent): string {
  const stage = `/${requestContext?.stage ?? '$default'}`
  return rawPath.startsWith(`${stage}/`) ? rawPath.slice(stage.length) : rawPath
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const found = path.split('/')
  return (
    wanted.length === found.length &&
    wanted.every((part, i) => (part.startsWith('{') ? found[i] !== '' : part === found[i]))
  )
}

/** Reads parameters from the query and, if the call allows that, from headers. */
function parametersRead(): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      const { kinds, endpoint } = exchange.target as Target
      const { parameters: schema = nothing, parametersAsHeaders, unchecked } = endpoint.call
      if (unchecked) return
      const found = queryParameters(event.rawQueryString)
      if (parametersAsHeaders) addHeaderParameters(found, event.headers ?? {}, Object.keys(kinds))
      exchange.parameters = validate(
        schema,
        typedParameters(found, kinds),
        'parameter',
        endpoint.call,
      )
    },
  }
}

/** A call without a body accepts an empty object: some clients send `{}` by themselves. */
const noBody: BodyCall = { kind: 'optional', schema: nothing, bytesMax: SMALL_BODY_BYTES_MAX }

const bodyCallOf = (exchange: Exchange): BodyCall =>
  (exchange.target as Target).endpoint.call.body ?? noBody

/** The body as text, if there is one: its type first, then its size. */
function bodyRead(): Step {
  return {
    before: ({ event: exchange }) => {
      const { event } = exchange
      const { bytesMax, mediaTypes = 'json' } = bodyCallOf(exchange)
      if (event.body === undefined || event.body === '') return
      const headers = event.headers ?? {}
      checkMediaType(headers, mediaTypes)
      const text = bodyText(event, bytesMax)
      if (text === undefined) return
      checkNoForm(headers, text)
      exchange.text = text
    },
  }
}

const nothingRaw = { raw: new Set<string>() }

/** The body's fields, as the call's schema wants them. */
function bodyChecked(): Step {
  return {
    before: ({ event: exchange }) => {
      const call = bodyCallOf(exchange)
      if (exchange.text === undefined) {
        if (call.kind === 'required') {
          throw new RequestError('INVALID_JSON', 'A body is missing; send a JSON object')
        }
        exchange.body = {}
        return
      }
      const fields = readBody(exchange.text, call.raw ?? nothingRaw)
      const schema = call.or !== undefined && call.or.field in fields ? call.or.schema : call.schema
      exchange.body = validate(schema, fields, 'field', (exchange.target as Target).endpoint.call)
    },
  }
}
