// Every route as plain data, shared by the handlers, the CDK stack and the OpenAPI page, so that
// no two of them can disagree.

import type { FunctionName } from '../runtime/names.ts'

/** What a caller may be allowed to do; a token's scope is `pushpop/<duty>`. */
export type Duty = 'push' | 'pop' | 'inspect' | 'manage' | 'rate'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'

export type Route = {
  readonly method: Method
  readonly path: `/${string}`
  readonly function: FunctionName
  readonly duty?: Duty
  readonly operationId: string
}

/** A route without a duty is open to everybody. */
const route = <const Id extends string>(
  operationId: Id,
  method: Method,
  path: Route['path'],
  name: FunctionName,
  duty?: Duty,
) => ({ method, path, function: name, ...(duty && { duty }), operationId })

export const routes = [
  route('push', 'POST', '/queue/{id}/push', 'Push', 'push'),
  route('pop', 'POST', '/queue/{id}/pop', 'Pop', 'pop'),
  route('acknowledge', 'POST', '/queue/{id}/acknowledge', 'Settle', 'pop'),
  route('extendLock', 'POST', '/queue/{id}/extend-lock', 'Settle', 'pop'),
  route('release', 'POST', '/queue/{id}/release', 'Settle', 'pop'),
  route('deadLetter', 'POST', '/queue/{id}/dead-letter', 'Settle', 'pop'),
  route('inspect', 'GET', '/queue/{id}', 'Inspect', 'inspect'),
  route('browse', 'GET', '/queue/{id}/items', 'Inspect', 'inspect'),
  route('scheduled', 'GET', '/queue/{id}/scheduled', 'Inspect', 'inspect'),
  route('configuration', 'GET', '/queue/{id}/config', 'Inspect', 'inspect'),
  route('configure', 'PUT', '/queue/{id}/config', 'Manage', 'manage'),
  route('unconfigure', 'DELETE', '/queue/{id}/config', 'Manage', 'manage'),
  route('cancel', 'POST', '/queue/{id}/cancel', 'Manage', 'manage'),
  route('move', 'POST', '/queue/{id}/move', 'Manage', 'manage'),
  route('schedules', 'GET', '/queue/{id}/schedules', 'Inspect', 'inspect'),
  route('schedule', 'GET', '/queue/{id}/schedules/{name}', 'Inspect', 'inspect'),
  route('putSchedule', 'PUT', '/queue/{id}/schedules/{name}', 'Manage', 'manage'),
  route('deleteSchedule', 'DELETE', '/queue/{id}/schedules/{name}', 'Manage', 'manage'),
  route('runSchedule', 'POST', '/queue/{id}/schedules/{name}/run', 'Manage', 'manage'),
  route('pauseSchedule', 'POST', '/queue/{id}/schedules/{name}/pause', 'Manage', 'manage'),
  route('resumeSchedule', 'POST', '/queue/{id}/schedules/{name}/resume', 'Manage', 'manage'),
  route('purge', 'POST', '/queue/{id}/purge', 'Manage', 'manage'),
  route('redrive', 'POST', '/queue/{id}/redrive', 'Manage', 'manage'),
  route('list', 'GET', '/queues', 'Inspect', 'inspect'),
  route('queuePatterns', 'GET', '/queue-config', 'Inspect', 'inspect'),
  route('configureQueuePatterns', 'PUT', '/queue-config', 'Manage', 'manage'),
  route('decideRate', 'POST', '/rate/{key}', 'Rate', 'rate'),
  route('rateState', 'GET', '/rate/{key}', 'Rate', 'inspect'),
  route('verifyTicket', 'GET', '/rate/{key}/tickets/{ticket}', 'Rate', 'rate'),
  route('giveUpTicket', 'DELETE', '/rate/{key}/tickets/{ticket}', 'Rate', 'rate'),
  route('rateConfiguration', 'GET', '/rate/{key}/config', 'Rate', 'manage'),
  route('configureRate', 'PUT', '/rate/{key}/config', 'Rate', 'manage'),
  route('unconfigureRate', 'DELETE', '/rate/{key}/config', 'Rate', 'manage'),
  route('ratePatterns', 'GET', '/rate-config', 'Rate', 'manage'),
  route('configureRatePatterns', 'PUT', '/rate-config', 'Rate', 'manage'),
  route('health', 'GET', '/healthz', 'Health'),
  // Monitors send this. The gateway does not match a HEAD to a GET route.
  route('healthHead', 'HEAD', '/healthz', 'Health'),
] as const satisfies readonly Route[]
