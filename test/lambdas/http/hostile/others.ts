import type { HttpErrorCode } from '../../../../lambdas/http/answer.ts'
import {
  type CallName,
  calls,
  type HostileCase,
  phrases,
  short,
  words,
  wrong,
} from './hostile-case.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']

const allowed = new Map<string, string[]>()
for (const { method, suffix } of Object.values(calls)) {
  const address = `/queue/{id}${suffix}`
  allowed.set(address, [...(allowed.get(address) ?? []), method])
}
allowed
  .set('/queues', ['GET'])
  .set('/healthz', ['GET'])
  .set('/rate/{id}', ['POST', 'GET'])
  .set('/rate/{id}/config', ['GET', 'PUT', 'DELETE'])
  .set('/rate/{id}/tickets/x', ['GET', 'DELETE'])
  .set('/rate-config', ['GET', 'PUT'])
  .set('/queue-config', ['GET', 'PUT'])

const wrongMethods = [...allowed].flatMap(([address, right]) =>
  methods
    .filter((method) => !right.includes(method))
    .map(
      (method): HostileCase => ({
        name: `${method} ${address}`,
        method,
        path: (queue) => address.replace('{id}', queue),
        code: 'METHOD_NOT_ALLOWED',
      }),
    ),
)

const nowhere = words(`
  / // /queue /queue/ /queue//push /queue/x/ /queue/x/push/ /queue/x/push/y /queue/x/Push
  /queue/x/peek /queue/x/%70ush%00 /queues/ /queues/x /QUEUES /healthz/ /rate /rate/ /rate/x/
  /rate/x/tickets /rate/x/tickets/ /rate/x/tickets/y/z /rate-config/ /health /favicon.ico
  /robots.txt /.env /queue/x/push.json /%71ueue/x/push/.. /${'x'.repeat(5_000)}
`).map(
  (at): HostileCase => ({
    name: `nothing at ${short(at)}`,
    method: 'GET',
    path: () => at,
    code: 'NOT_FOUND',
  }),
)

const keys = ['', 'x'.repeat(129), 'é', 'a\tb', '\u00a0', 'ÿ'.repeat(10)]
const keyCases = keys.flatMap((key) => {
  const headers = { 'idempotency-key': key }
  return [
    wrong('push', `the key ${short(key)}`, 'INVALID_PARAMETER', {
      headers,
      names: 'Idempotency-Key',
    }),
    wrong('pop', `the key ${short(key)}`, 'INVALID_PARAMETER', {
      headers,
      query: 'require_ack=true&allow_competing_consumers=true',
      names: 'Idempotency-Key',
    }),
  ]
})

const tags = [
  '',
  ...phrases(`
  0 ¦ 1 ¦ latest ¦ "1 ¦ 1" ¦ ""1 ¦ "a" "b" ¦ , ¦ "1", ¦ W/1 ¦ w/"1" ¦ '1' ¦ """" ¦ 5
`),
]
const staleTags = words(`
  "1" "999" "-1" "01" "" ${'"a b"'.replace(' ', '_')} W/"0" "0.0" "1","2"
`)

const lockIds = words(`"" 5 null true [] ["a"] {} {"$ne":""} "${'x'.repeat(65)}"`)
const unknownLocks = phrases(`
  "AAAAAAAAAAA" ¦ "x" ¦ "../../../.." ¦ "\\u0000" ¦ "🎈" ¦ "\\ud800" ¦ "AAAAAAAAAAAA" ¦ " "
`)
const oneLock = '"lock_id":"AAAAAAAAAAA"'
const settling: readonly CallName[] = ['acknowledge', 'release', 'deadLetter']
const idLists = words(`
  [] null "x" [1] [""] [null] {} [${Array(101).fill('"x"').join(',')}] ["${'x'.repeat(65)}"]
`)
const lockLists = words(`[] null "x" [1] [""] {} [${Array(101).fill('"x"').join(',')}]`)
const ttls = ['null', '"5"', '1.5', '1e400', '-1e400', 'true', '[]', '[5]', '{}']
const reasons = ['5', 'null', '[]', `"${'x'.repeat(257)}"`]

const wrongLimits = words(`
  0 "5" true 1e400 {"max_requests":9,"window_millis":1e400}
  {"max_requests":9,"algorithm":"__proto__"} {"max_requests":9,"max_requests":8}
`)
/** Limits that are wrong in one field of theirs, which the error names. */
const limitFields = [
  ['max_requests', '{"max_requests":0}', '{"max_requests":"5"}', '{}', '[]'],
  ['window_millis', '{"max_requests":9,"window_millis":99}'],
  ['algorithm', '{"max_requests":9,"algorithm":"leaky"}'],
  ['burst', '{"max_requests":9,"burst":2}', '{"max_requests":2,"algorithm":"smooth","burst":3}'],
] as const
const wrongSettings = words('0 -1 1.5 "5" true [] {} 1e400 1e15')

/** A call, a field that its error must name, wrong values of it, the body of one, and the code. */
const fields: readonly (readonly [
  CallName,
  string,
  readonly string[],
  (value: string) => string,
  HttpErrorCode?,
])[] = [
  ...settling.flatMap((name) => [
    [name, 'lock_id', lockIds, (id: string) => `{"lock_id":${id}}`] as const,
    [
      name,
      'the lock',
      unknownLocks,
      (id: string) => `{"lock_id":${id}}`,
      'INVALID_LOCK_ID',
    ] as const,
    [name, 'ids', idLists, (ids: string) => `{"lock_id":"AAAAAAAAAAA","ids":${ids}}`] as const,
  ]),
  ['extendLock', 'lock_id', lockIds, (id) => `{"lock_id":${id},"ttl_seconds":5}`],
  ['extendLock', 'ttl_seconds', ttls, (ttl) => `{${oneLock},"ttl_seconds":${ttl}}`, 'INVALID_TTL'],
  ['deadLetter', 'reason', reasons, (it) => `{${oneLock},"reason":${it}}`],
  [
    'release',
    'delay_seconds',
    words('-1 86401 1.5 "60" true'),
    (it) => `{${oneLock},"delay_seconds":${it}}`,
  ],
  ['release', 'overtake', ['"yes"'], (it) => `{${oneLock},"delay_seconds":1,"overtake":${it}}`],
  ['acknowledge', 'lock_ids', lockLists, (ids) => `{"lock_ids":${ids}}`],
  ['configure', 'push_limit', wrongLimits, (it) => `{"push_limit":${it}}`],
  ['configure', 'pop_limit', wrongLimits, (it) => `{"pop_limit":${it}}`],
  ...limitFields.flatMap(([field, ...limits]) =>
    ['push_limit', 'pop_limit'].map(
      (name) =>
        ['configure', `${name}.${field}`, limits, (it: string) => `{"${name}":${it}}`] as const,
    ),
  ),
  // Each with its own bound, and what cannot be taken away.
  [
    'configure',
    'segment_size',
    [...wrongSettings, '251', 'null'],
    (it) => `{"segment_size":${it}}`,
  ],
  [
    'configure',
    'buffer_segments',
    [...wrongSettings, '101', 'null'],
    (it) => `{"buffer_segments":${it}}`,
  ],
  ['configure', 'max_deliveries', [...wrongSettings, '1001'], (it) => `{"max_deliveries":${it}}`],
  ['configure', 'capacity', [...wrongSettings, '1000000000001'], (it) => `{"capacity":${it}}`],
  ['redrive', 'limit', words('0 1001 -1 1.5 "5" null 1e400'), (it) => `{"limit":${it}}`],
]

export const otherCases: readonly HostileCase[] = [
  ...wrongMethods,
  ...nowhere,
  ...keyCases,
  ...fields.flatMap(([name, field, values, bodyOf, code = 'INVALID_PARAMETER']) =>
    values.map((value) =>
      wrong(name, `${field} ${short(value)}`, code, {
        body: bodyOf(value),
        names: code === 'INVALID_LOCK_ID' ? '' : field,
      }),
    ),
  ),
  wrong('acknowledge', 'lock_id and lock_ids', 'UNKNOWN_FIELD', {
    body: '{"lock_id":"AAAAAAAAAAA","lock_ids":["AAAAAAAAAAA"]}',
  }),
  wrong('release', 'lock_ids', 'INVALID_PARAMETER', { body: '{"lock_ids":["AAAAAAAAAAA"]}' }),
  wrong('extendLock', 'no time', 'INVALID_TTL', { body: '{"lock_id":"AAAAAAAAAAA"}' }),
  wrong('pop', 'an unknown lock to acknowledge', 'INVALID_LOCK_ID', {
    query: 'acknowledge=AAAAAAAAAAA',
  }),
  wrong('pop', 'a lock beside it', 'QUEUE_LOCKED'),
  wrong('pop', 'a key without a lock', 'INVALID_PARAMETER', {
    headers: { 'idempotency-key': 'k' },
    names: 'Idempotency-Key',
  }),
  ...tags.map((tag) =>
    wrong('configure', `If-Match: ${tag}`, 'INVALID_PARAMETER', {
      headers: { 'if-match': tag },
      names: 'If-Match',
    }),
  ),
  ...staleTags.map((tag) =>
    wrong('configure', `stale If-Match: ${tag}`, 'VERSION_MISMATCH', {
      headers: { 'if-match': tag },
    }),
  ),
  wrong('configure', 'segmentSize', 'UNKNOWN_FIELD', {
    body: '{"segmentSize":5}',
    names: 'segmentSize',
  }),
  wrong('configure', 'a limit with shards', 'UNKNOWN_FIELD', {
    body: '{"push_limit":{"max_requests":9,"shards":2}}',
    names: 'push_limit.shards',
  }),
  {
    ...wrong('configure', 'a dead-letter queue', 'INVALID_PARAMETER'),
    path: (queue) => `/queue/${queue}-deadletter/config`,
    options: { body: '{"max_deliveries":3}' },
  },
  wrong('redrive', 'a queue that is no dead-letter queue', 'INVALID_QUEUE_ID'),
]
