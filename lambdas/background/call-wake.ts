// How another function calls Wake. If that fails, nothing is lost: the minute's sweep comes all the same.

import { createRequestHandler } from '../../aws/connections.ts'
import { answerTimeoutsMs } from '../../aws/failures.ts'
import {
  endpointOf,
  environmentCredentials,
  KeptCredentials,
  lambda,
  Signer,
} from '../../aws/signing.ts'
import { type Clock, systemClock } from '../../shared/system.ts'
import { describeError, type Environment, type Log, required } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'

/**
 * Something is due at `untilMs`: the run of Wake that is awake must stay until then. `takesOver`: we know that this run
 * has ended.
 */
export type WakeEvent = { readonly untilMs?: number; readonly takesOver?: boolean }

/** Calls Wake. If that fails it says so in the log: the minute's sweep comes all the same. */
export type Waker = (event: WakeEvent, log: Log) => Promise<void>

/** Undefined if the stack has no Wake. */
export function wakerIn(environment: Environment): Waker | undefined {
  const name = environment[variables.wake]
  if (!name) return undefined
  const invoke = invokeFunction(name, environment)
  return async (event, log) => {
    try {
      await invoke(event)
    } catch (error) {
      log.write('warn', 'Wake not called', { error: describeError(error) })
    }
  }
}

/** Makes Lambda call a function with an event, and does not wait for its work. */
type Invoke = (event: object) => Promise<void>

/** Lambda may throttle these calls for a moment. The event may then come twice, which does no harm here. */
const ATTEMPTS_MAX = 3
const PAUSE_FIRST_MS = 100

const service = {
  name: 'lambda',
  contentType: 'application/json',
  header: 'x-amz-invocation-type',
} as const

/**
 * Lambda's own request for that, signed by our signer: its client would be more code than the rest of the
 * function that calls.
 */
export function invokeFunction(
  name: string,
  environment: Environment,
  clock: Clock = systemClock,
): Invoke {
  const { url, region } = endpointOf(
    required(environment, 'AWS_REGION'),
    environment,
    undefined,
    lambda,
  )
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`
  const { protocol, hostname, port, host } = url
  const to = { protocol, hostname, port: port || undefined, method: 'POST', path, query: {} }
  const signer = new Signer(region, host, path, service)
  const credentials = new KeptCredentials(environmentCredentials, Date.now)
  const handler = createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.lambda })

  async function send(body: string): Promise<void> {
    const headers = signer.headers('Event', body, await credentials.get(), Date.now())
    const { response } = await handler.handle({ ...to, headers, body } as never)
    const { statusCode } = response
    if (statusCode !== 202) throw new Error(`Lambda answered ${statusCode} to a call of ${name}`)
  }

  return async (event) => {
    const body = JSON.stringify(event)
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await send(body)
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error
        await clock.sleep(PAUSE_FIRST_MS * 4 ** (attempt - 1))
      }
    }
  }
}
