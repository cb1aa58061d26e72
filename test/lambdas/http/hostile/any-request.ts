import fc from 'fast-check'
import type { CallOptions } from '../call.ts'
import { callNames, calls, words } from './hostile-case.ts'

/** Requests of every kind: nearly right, wrong, and nothing of the sort. */

type AnyRequest = {
  readonly method: string
  readonly path: string
  readonly options: CallOptions
}

/** Stands for a lock that an earlier request was given, where there was one. */
export const SOME_LOCK = 'AAAAAAAAAAA'
/** Likewise for a ticket of a rate limit. */
export const SOME_TICKET = 'TICKET'

/** Told by nobody: an answer that holds it has repeated what it was given. */
export const CANARY = 'c4n4ry'

const ids = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', 'A', 'a-deadletter', 'b-deadletter') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }).map(encoded) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 120 }).map(encodeURIComponent) },
)

/** A lone surrogate has no encoding. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ff'
}

/** Of rate limits: nearly right, and each with what makes it good. */
const rateCalls = [
  { method: 'POST', suffix: '' },
  { method: 'POST', suffix: '', query: 'canWait=true&maxWaitMs=0' },
  { method: 'GET', suffix: '' },
  { method: 'GET', suffix: '/config' },
  {
    method: 'PUT',
    suffix: '/config',
    body: '{"max_requests":1,"window_millis":86400000,"allow_overrides":true}',
  },
  { method: 'DELETE', suffix: '/config' },
  { method: 'GET', suffix: `/tickets/${SOME_TICKET}` },
  { method: 'DELETE', suffix: `/tickets/${SOME_TICKET}` },
] as const
const patternCalls = [
  { method: 'GET' },
  { method: 'PUT', body: '{"patterns":[]}' },
  { method: 'PUT', body: '{"patterns":[{"prefix":"c","max_requests":2,"window_millis":60000}]}' },
] as const
const queuePatternCalls = [
  { method: 'GET' },
  { method: 'PUT', body: '{"patterns":[]}' },
  {
    method: 'PUT',
    body: '{"patterns":[{"prefix":"c","capacity":9,"pop_limit":{"max_requests":9}}]}',
  },
] as const

const addresses = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ name: fc.constantFrom(...callNames), id: ids }).map(({ name, id }) => ({
      method: calls[name].method as string,
      path: `/queue/${id}${calls[name].suffix}`,
    })),
  },
  {
    weight: 4,
    arbitrary: fc.record({ one: fc.constantFrom(...rateCalls), id: ids }).map(({ one, id }) => ({
      method: one.method as string,
      path: `/rate/${id}${one.suffix}`,
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      { method: 'GET', path: '/rate-config' },
      { method: 'PUT', path: '/rate-config' },
      { method: 'GET', path: '/queue-config' },
      { method: 'PUT', path: '/queue-config' },
      { method: 'GET', path: '/queues' },
      { method: 'GET', path: '/healthz' },
      { method: 'HEAD', path: '/healthz' },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      path: fc.oneof(
        fc.webPath().map((path) => `/${path}`),
        fc.constantFrom(...callNames).map((name) => `/queue/x${calls[name].suffix}`),
      ),
    }),
  },
)

const values = fc.oneof(
  fc.constantFrom('1', '0', '-1', '100', '101', '5', 'true', 'false', '', SOME_LOCK, '1.5'),
  fc.integer().map(String),
  fc.double().map(String),
  fc.string({ unit: 'binary', maxLength: 6 }).map(encoded),
  fc.string({ maxLength: 6 }),
)
const parameterNames = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'count',
      'require_ack',
      'ttl_seconds',
      'allow_competing_consumers',
      'acknowledge',
      'consistent',
      'priority',
      'limit',
      'cursor',
      'prefix',
      'canWait',
      'maxRequests',
      'maxRequestsInQueue',
      'windowMillis',
      'cost',
      'maxWaitMs',
      'caller',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 5 }) },
)
const queries = fc
  .array(fc.tuple(parameterNames, values), { maxLength: 3 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'))

const headers = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 8, arbitrary: fc.constant('application/json') },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/json; charset=utf-8',
          'application/json; charset=x',
        ),
      },
      { weight: 1, arbitrary: fc.string({ maxLength: 10 }) },
    ),
    'idempotency-key': fc.oneof(fc.constantFrom('k1', 'k2', ''), fc.string({ maxLength: 4 })),
    'if-match': fc.oneof(fc.constantFrom('*', '"0"', '"1"', 'W/"1"'), fc.string({ maxLength: 4 })),
    'require-ack': fc.constantFrom('true', 'false', 'yes'),
    count: fc.constantFrom('1', '2', 'x'),
  },
  { requiredKeys: [] },
)

const numbers = fc.constantFrom(
  ...words(`
    0 1 -1 5 1.0 1e2 1e400 -0 0.5 "1" null
  `),
)
const strings = fc.oneof(
  fc.constantFrom(`"${SOME_LOCK}"`, `"${CANARY}"`, '""', '"\\ud800"', '"\\u0000"'),
  fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
)
const jsons = fc.oneof(
  { weight: 3, arbitrary: numbers },
  { weight: 3, arbitrary: strings },
  { weight: 2, arbitrary: fc.json({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom(`{"${CANARY}":1,"${CANARY}":2}`, '[]', '{}', '[[],{}]') },
)
const fieldNames = fc.constantFrom(
  ...words(`
    item items priority lock_id lock_ids ids ttl_seconds reason limit segment_size
    buffer_segments max_deliveries capacity push_limit pop_limit max_requests window_millis
    algorithm burst shards allow_overrides patterns prefix cron time_zone every_seconds
    starts_at ends_at missed __proto__
  `),
)
const itemObjects = fc
  .tuple(jsons, fc.option(numbers))
  .map(([item, priority]) =>
    priority === null ? `{"item":${item}}` : `{"item":${item},"priority":${priority}}`,
  )
const lockObjects = fc.constantFrom(
  `{"lock_id":"${SOME_LOCK}"}`,
  `{"lock_id":"${SOME_LOCK}","ttl_seconds":1}`,
  `{"lock_id":"${SOME_LOCK}","reason":"${CANARY}"}`,
  `{"lock_ids":["${SOME_LOCK}","x"]}`,
)
const idObjects = fc.constantFrom(
  '{"ids":["AAAAAAAA-0-0"]}',
  '{"ids":["AAAAAAAA-0-0","AAAAAAAA-0-1"],"priority":1}',
  '{"ids":["AAAAAAAA-0-0"],"queue":"other"}',
)
const objects = fc.oneof(
  itemObjects,
  idObjects,
  lockObjects,
  fc.array(itemObjects, { maxLength: 4 }).map((list) => `{"items":[${list.join(',')}]}`),
  fc
    .array(fc.tuple(fieldNames, jsons), { maxLength: 3 })
    .map((fields) => `{${fields.map(([name, value]) => `"${name}":${value}`).join(',')}}`),
)

/** Something taken out, put in or doubled somewhere. */
const damaged = fc
  .tuple(
    objects,
    fc.nat(),
    fc.nat({ max: 3 }),
    fc.constantFrom('', '"', '{', ']', '\\', ',', '\u0000', '\ufeff', '🎈'),
  )
  .map(([text, where, length, added]) => {
    const at = where % (text.length + 1)
    return text.slice(0, at) + added + text.slice(at + length)
  })

const bodies = fc.oneof(
  { weight: 8, arbitrary: objects },
  { weight: 4, arbitrary: damaged },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }) },
)

const wildRequest: fc.Arbitrary<AnyRequest> = fc
  .record({
    address: addresses,
    query: fc.option(queries, { nil: undefined, freq: 2 }),
    headers: fc.option(headers, { nil: undefined, freq: 2 }),
    body: fc.option(bodies, { nil: undefined, freq: 5 }),
  })
  .map(({ address, query, headers: sent, body }) => ({
    ...address,
    options: {
      ...(query !== undefined && { query }),
      ...(sent !== undefined && { headers: defined(sent) }),
      ...(body !== undefined && address.method !== 'GET' && { body }),
    },
  }))

/** So that there is something to go wrong with. */
const goodRequest: fc.Arbitrary<AnyRequest> = fc
  .record({
    name: fc.constantFrom(...callNames),
    id: fc.constantFrom('a', 'b', 'c'),
    locks: fc.boolean(),
  })
  .map(({ name, id, locks }) => {
    const { method, suffix, ...rest } = calls[name]
    const options = 'body' in rest ? { body: rest.body } : {}
    const query = name === 'pop' && locks ? { query: 'require_ack=true' } : {}
    return { method, path: `/queue/${id}${suffix}`, options: { ...options, ...query } }
  })

const goodRateRequest: fc.Arbitrary<AnyRequest> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({ one: fc.constantFrom(...rateCalls), key: fc.constantFrom('a', 'b', 'c') })
      .map(({ one: { method, suffix, ...options }, key }) => ({
        method,
        path: `/rate/${key}${suffix}`,
        options,
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...patternCalls)
      .map(({ method, ...options }) => ({ method, path: '/rate-config', options })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...queuePatternCalls)
      .map(({ method, ...options }) => ({ method, path: '/queue-config', options })),
  },
)

export const anyRequest: fc.Arbitrary<AnyRequest> = fc.oneof(
  { weight: 5, arbitrary: wildRequest },
  { weight: 1, arbitrary: goodRequest },
  { weight: 1, arbitrary: goodRateRequest },
)

const defined = (record: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
