// Every route as plain data, shared by the handlers, the CDK stack and the OpenAPI page, so that
// no two of them can disagree.

import type { FunctionName } from '../runtime/function-name.ts'

/** What a caller may be allowed to do; a token's scope is `pushpop/<duty>`. */
export type Duty = 'push' | 'pop' | 'inspect' | 'manage' | 'rate'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type Route = {
  readonly method: Method
  readonly path: `/${string}`
  readonly function: FunctionName
  /** Without a duty the route is open to everybody. */
  readonly duty?: Duty
  readonly operationId: string
}

export const routes = [
  { method: 'POST', path: '/queue/{id}/push', function: 'Push', duty: 'push', operationId: 'push' },
  { method: 'POST', path: '/queue/{id}/pop', function: 'Pop', duty: 'pop', operationId: 'pop' },
  {
    method: 'POST',
    path: '/queue/{id}/acknowledge',
    function: 'Settle',
    duty: 'pop',
    operationId: 'acknowledge',
  },
  {
    method: 'POST',
    path: '/queue/{id}/extend-lock',
    function: 'Settle',
    duty: 'pop',
    operationId: 'extendLock',
  },
  {
    method: 'POST',
    path: '/queue/{id}/release',
    function: 'Settle',
    duty: 'pop',
    operationId: 'release',
  },
  {
    method: 'POST',
    path: '/queue/{id}/dead-letter',
    function: 'Settle',
    duty: 'pop',
    operationId: 'deadLetter',
  },
  {
    method: 'GET',
    path: '/queue/{id}',
    function: 'Inspect',
    duty: 'inspect',
    operationId: 'inspect',
  },
  {
    method: 'GET',
    path: '/queue/{id}/items',
    function: 'Inspect',
    duty: 'inspect',
    operationId: 'browse',
  },
  {
    method: 'GET',
    path: '/queue/{id}/config',
    function: 'Inspect',
    duty: 'inspect',
    operationId: 'configuration',
  },
  {
    method: 'PUT',
    path: '/queue/{id}/config',
    function: 'Manage',
    duty: 'manage',
    operationId: 'configure',
  },
  {
    method: 'POST',
    path: '/queue/{id}/purge',
    function: 'Manage',
    duty: 'manage',
    operationId: 'purge',
  },
  {
    method: 'POST',
    path: '/queue/{id}/redrive',
    function: 'Manage',
    duty: 'manage',
    operationId: 'redrive',
  },
  { method: 'GET', path: '/queues', function: 'Inspect', duty: 'inspect', operationId: 'list' },
  {
    method: 'POST',
    path: '/rate/{key}',
    function: 'Rate',
    duty: 'rate',
    operationId: 'decideRate',
  },
  {
    method: 'GET',
    path: '/rate/{key}',
    function: 'Rate',
    duty: 'inspect',
    operationId: 'rateState',
  },
  {
    method: 'GET',
    path: '/rate/{key}/tickets/{ticket}',
    function: 'Rate',
    duty: 'rate',
    operationId: 'verifyTicket',
  },
  {
    method: 'DELETE',
    path: '/rate/{key}/tickets/{ticket}',
    function: 'Rate',
    duty: 'rate',
    operationId: 'giveUpTicket',
  },
  {
    method: 'GET',
    path: '/rate/{key}/config',
    function: 'Rate',
    duty: 'manage',
    operationId: 'rateConfiguration',
  },
  {
    method: 'PUT',
    path: '/rate/{key}/config',
    function: 'Rate',
    duty: 'manage',
    operationId: 'configureRate',
  },
  {
    method: 'DELETE',
    path: '/rate/{key}/config',
    function: 'Rate',
    duty: 'manage',
    operationId: 'unconfigureRate',
  },
  {
    method: 'GET',
    path: '/rate-config',
    function: 'Rate',
    duty: 'manage',
    operationId: 'ratePatterns',
  },
  {
    method: 'PUT',
    path: '/rate-config',
    function: 'Rate',
    duty: 'manage',
    operationId: 'configureRatePatterns',
  },
  { method: 'GET', path: '/healthz', function: 'Health', operationId: 'health' },
] as const satisfies readonly Route[]
