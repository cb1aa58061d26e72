import { type HostileCase, short, words } from './hostile-case.ts'
import { wrongIds } from './ids.ts'
import { flags, numbers } from './parameters.ts'

/** Requests to rate limits that are wrong in one way each. */

const calls = [
  ['POST', ''],
  ['GET', ''],
  ['GET', '/config'],
  ['PUT', '/config', '{}'],
  ['DELETE', '/config'],
  ['GET', '/tickets/x'],
  ['DELETE', '/tickets/x'],
] as const

const keyCases = wrongIds.flatMap((key) =>
  calls.map(
    ([method, suffix, body]): HostileCase => ({
      name: `${method} rate${suffix}: the key ${short(key)}`,
      method,
      path: () => `/rate/${key}${suffix}`,
      options: body === undefined ? {} : { body },
      code: 'INVALID_PARAMETER',
    }),
  ),
)

const decide = (
  query: string,
  code: HostileCase['code'] = 'INVALID_PARAMETER',
  names?: string,
): HostileCase => ({
  names,
  name: `decideRate: ${short(query)}`,
  method: 'POST',
  path: () => '/rate/hostile',
  options: { query },
  code,
})

const bounds: Readonly<Record<string, readonly string[]>> = {
  maxRequests: ['0', '-1', '100001'],
  maxRequestsInQueue: ['-1', '1000001'],
  windowMillis: ['0', '99', '86400001'],
  cost: ['0', '-1', '100001', '101'],
  maxWaitMs: ['-1', '20001'],
}

const parameterCases = [
  ...Object.entries(bounds).flatMap(([name, wrong]) =>
    [...numbers, ...wrong, '99999999999999999999'].map((value) =>
      decide(`${name}=${value}`, 'INVALID_PARAMETER', name),
    ),
  ),
  ...flags.map((value) => decide(`canWait=${value}`)),
  ...['', 'x'.repeat(257)].map((value) => decide(`caller=${value}`)),
  ...['canWait=true&canWait=true', 'cost=1&cost=1', 'cost=%', '%'].map((query) => decide(query)),
  ...['can_wait=true', 'verbose=1', '__proto__=1', '=1'].map((query) =>
    decide(query, 'UNKNOWN_FIELD'),
  ),
]

const tickets = words(`
  x . .. a.b a.b.c %00 %2E%2E%2Fetc %F0%9F%8E%88 WyJ4Il0.AAAA bnVsbA.AAAA ${'x'.repeat(5_000)}
`)
const ticketCases = tickets.flatMap((ticket) =>
  ['GET', 'DELETE'].map(
    (method): HostileCase => ({
      name: `${method} the ticket ${short(ticket)}`,
      method,
      path: () => `/rate/hostile/tickets/${ticket}`,
      code: 'TICKET_NOT_FOUND',
    }),
  ),
)

const put = (
  path: `/${string}`,
  body: string | undefined,
  code: HostileCase['code'] = 'INVALID_PARAMETER',
  names?: string,
): HostileCase => ({
  names,
  name: `PUT ${path}: ${short(body ?? 'nothing')}`,
  method: 'PUT',
  path: () => path,
  options: body === undefined ? {} : { body },
  code,
})

const settings: Readonly<Record<string, readonly string[]>> = {
  max_requests: ['0', '100001', '1.5', '"5"', 'null', '[]', '{}', '1e400'],
  max_requests_in_queue: ['-1', '1000001', '"5"', 'null', 'true'],
  window_millis: ['99', '86400001', '"1000"', 'null'],
  algorithm: ['"leaky"', '""', 'null', '1', '[]', '"__proto__"'],
  burst: ['0', '2', '-1', 'null', '"1"'],
  shards: ['0', '26', '1.5', 'null', '"2"'],
  allow_overrides: ['1', '"true"', 'null', '[]'],
}
const configurationCases = Object.entries(settings).flatMap(([name, values]) =>
  values.flatMap((value) => [
    put('/rate/hostile/config', `{"${name}":${value}}`, 'INVALID_PARAMETER', name),
    put(
      '/rate-config',
      `{"patterns":[{"prefix":"x","${name}":${value}}]}`,
      'INVALID_PARAMETER',
      name,
    ),
  ]),
)

const hundredAndOne = Array.from({ length: 101 }, (_, n) => `{"prefix":"p${n}"}`).join(',')
const patternCases = [
  ...['null', '{}', '"x"', '[1]', '[null]', '[[]]', '[{}]', '[{"prefix":1}]'].map((value) =>
    put('/rate-config', `{"patterns":${value}}`),
  ),
  ...['a b', 'a#b', 'é', '~', 'x'.repeat(101)].map((prefix) =>
    put('/rate-config', `{"patterns":[{"prefix":"${prefix}"}]}`),
  ),
  put('/rate-config', '{"patterns":[{"prefix":"x"},{"prefix":"x"}]}'),
  put('/rate-config', '{"patterns":[{"prefix":"x","prefix":"y"}]}'),
  put('/rate-config', '{"patterns":[{"prefix":"x","shards":2}]}'),
  put('/rate-config', `{"patterns":[${hundredAndOne}]}`),
  put('/rate-config', '{}'),
  put('/rate-config', '{"patterns":[{"prefix":"x","max":1}]}', 'UNKNOWN_FIELD'),
  put('/rate-config', '{"patterns":[],"more":1}', 'UNKNOWN_FIELD'),
  put('/rate-config', '[]', 'INVALID_JSON'),
  put('/rate-config', undefined, 'INVALID_JSON'),
  ...['null', '[1]', '[{}]', '[{"prefix":"a b"}]', '[{"prefix":"x"},{"prefix":"x"}]'].map((value) =>
    put('/queue-config', `{"patterns":${value}}`),
  ),
  ...['{"capacity":0}', '{"max_deliveries":1001}', '{"push_limit":{}}', '{"pop_limit":5}'].map(
    (settings) => put('/queue-config', `{"patterns":[{"prefix":"x",${settings.slice(1)}]}`),
  ),
  put('/queue-config', `{"patterns":[${hundredAndOne}]}`),
  put('/queue-config', '{"patterns":[{"prefix":"x","shards":2}]}', 'UNKNOWN_FIELD'),
  put('/queue-config', '[]', 'INVALID_JSON'),
  put('/rate/hostile/config', '{"max_requests":3,"shards":4}', 'INVALID_PARAMETER', 'shards'),
  put('/rate/hostile/config', '{"max":1}', 'UNKNOWN_FIELD'),
  put('/rate/hostile/config', undefined, 'INVALID_JSON'),
]

export const rateCases: readonly HostileCase[] = [
  ...keyCases,
  ...parameterCases,
  ...ticketCases,
  ...configurationCases,
  ...patternCases,
]
