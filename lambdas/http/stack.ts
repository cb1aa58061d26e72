import middy from '@middy/core'
import type { Context } from 'aws-lambda'
import type { FunctionName } from '../runtime/function-name.ts'
import type { Log } from '../runtime/log.ts'
import { Tally, withTally } from '../runtime/tally.ts'
import type { Answer } from './answer.ts'
import type { CheckedRequest } from './endpoint.ts'
import { OutOfTime } from './error-answer.ts'
import type { Exchange, HttpEvent, Target } from './exchange.ts'
import type { Call } from './schemas/call.ts'
import { answered } from './steps/answered.ts'
import { bodyChecked } from './steps/body-checked.ts'
import { bodyRead } from './steps/body-read.ts'
import { observed } from './steps/observed.ts'
import { parametersRead } from './steps/parameters-read.ts'
import { routed } from './steps/routed.ts'
import { type Endpoints, targetsOf } from './targets.ts'

export type HttpHandler = (event: HttpEvent, context: Partial<Context>) => Promise<Answer>

/**
 * The one stack of every HTTP function. The order, and why:
 *
 *   observed        outermost, so that it sees every answer: one log line each, metrics in it
 *   answered        turns every error thrown below into the one shape of errors, and puts the
 *                   request id on every answer; outside of it, nothing may throw
 *   routed          finds the endpoint and the queue, on which all later steps depend
 *   parametersRead  cheap to check, and a body need not be read for a request that fails here
 *   bodyRead        its type before its size before its text: each guards the next, more costly one
 *   bodyChecked     fields against the schema, so that the endpoint sees checked values only
 *
 * The engine checks again what the schemas checked: it is used without HTTP as well.
 */
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

/** Enough to write an answer and its log line. */
const ANSWER_BEFORE_END_MS = 1_000

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
