import type { FunctionName, OptionalFunctionName } from '../../lambdas/runtime/names.ts'
import {
  changedRequest,
  emptied,
  eventOf,
  pushed,
  type RequestChange,
  streamEvent,
  type WriteChange,
} from './changed-event.ts'

/** What a function must make of an event. */
export type Expected = {
  readonly name: string
  /** `events/<name>.json` where it is one of those. */
  readonly file: string | undefined
  readonly event: unknown
  readonly function: FunctionName | OptionalFunctionName
  readonly outcome:
    | { readonly status: number; readonly body: object }
    /** What a function without HTTP returns. */
    | { readonly returned: object }
  /** In the last line of its log. */
  readonly logged: object
}

/** A file in events/, or what is changed in it. */
type Request = string | readonly [file: string, change: RequestChange]

const http = (
  request: Request,
  name: FunctionName,
  status: number,
  body: object,
  logged: object = {},
): Expected => ({
  ...(typeof request === 'string'
    ? { name: request, file: request, event: eventOf(request) }
    : {
        name: `${request[0]} ${JSON.stringify(request[1])}`,
        file: undefined,
        event: changedRequest(...request),
      }),
  function: name,
  outcome: { status, body },
  logged: { message: 'request', function: name, status, ...logged },
})

const refused = (request: Request, name: FunctionName, status: number, error_code: string) =>
  http(request, name, status, { success: false, error_code }, { error_code })

const upkeep = (
  [name, event]: readonly [name: string, event: unknown],
  of: FunctionName | OptionalFunctionName,
  returned: object,
  logged: object,
): Expected => ({
  name,
  file: event === undefined ? name : undefined,
  event: event ?? eventOf(name),
  function: of,
  outcome: { returned },
  logged: { message: 'run', level: 'info', function: of, ...logged },
})

const announce = (
  name: string,
  writes: readonly WriteChange[] | undefined,
  logged: object,
  failed: readonly string[] = [],
): Expected => ({
  name,
  file: writes === undefined ? name : undefined,
  event: writes === undefined ? eventOf(name) : streamEvent(writes),
  function: 'Announce',
  outcome: {
    returned: { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) },
  },
  logged: {
    message: 'run',
    level: failed.length === 0 ? 'info' : 'warn',
    function: 'Announce',
    failed: failed.length,
    ...logged,
  },
})

/** A lock on both items of `pushed`, to be over at this time. */
const locked = (expiresAtMs: number) => ({
  L: { 0: { ...(pushed.L as readonly object[])[0], f: 2 } },
  K: { AAAAAAAAAAA: { x: expiresAtMs, r: [0, 0, 2] } },
})
const held = { ...pushed, v: 8, ...locked(1_772_282_000_000), dry: 'y' }
/** One of them is dead, after too many deliveries. */
const expired = {
  ...held,
  v: 9,
  L: { 0: { ...held.L[0], q: [0, 1, 0], w: ['max_deliveries'], d: [0, 1, 3, 1, 2, 1] } },
  ...{ K: {}, g: 1, ev: 'y', e: 'AAAAAAAAAAAx2', le: 1_772_282_096_123, dry: undefined },
}
const otherRows: readonly WriteChange[] = [
  { before: undefined, after: { pk: 's#orders#x7Gh2kQz#0#3', sk: '000000000300-000000000308' } },
  { before: { pk: 'i#orders#5f2c', sk: 'receipt' }, after: undefined },
]
/** In the form of a REST API, which this service is not. */
const oldVersion = {
  version: '1.0',
  resource: '/queue/{id}/push',
  path: '/queue/orders/push',
  httpMethod: 'POST',
  headers: { 'Content-Type': 'application/json' },
  requestContext: { httpMethod: 'POST', path: '/queue/orders/push', requestId: 'JKJaXmPLvHcESHA=' },
  pathParameters: { id: 'orders' },
  body: '{"item":1}',
  isBase64Encoded: false,
}

const configuration = {
  segment_size: 100,
  buffer_segments: 1,
  max_deliveries: 3,
  capacity: 100_000,
}

const oneADay = { max_requests: 1, window_millis: 86_400_000 }

const key = { 'idempotency-key': 'order-19' }
const stale = { 'if-match': '"99"' }
const byHeaders = { 'require-ack': 'true', count: '1', 'allow-competing-consumers': 'true' }
const fourItems = JSON.stringify({
  items: [
    { item: 'first' },
    { item: 'urgent', priority: 0 },
    { item: { order: 18 }, priority: 5 },
    { item: null, priority: 5 },
  ],
})
const unreadable: readonly WriteChange[] = [
  { before: emptied, after: { ...pushed, v: 'seven', L: undefined } },
  { before: emptied, after: pushed },
]
/** Of a stream that gives no images. */
const keysAlone = {
  Records: [{ dynamodb: { Keys: { pk: { S: 'q#orders' }, sk: { S: 'queue' } } } }],
}

/**
 * Every event, in an order in which each meets what it is about: some push, others pop what
 * those pushed, and the lock that an acknowledgement names is the one that a pop before it made.
 */
export const expectedEvents: readonly Expected[] = [
  http('health', 'Health', 200, { status: 'ok' }),
  http('health-head', 'Health', 200, {}),
  refused(['health', { path: '/nowhere' }], 'Health', 404, 'NOT_FOUND'),
  refused(['health', { path: '/queue/orders/push' }], 'Health', 405, 'METHOD_NOT_ALLOWED'),

  http(
    'push',
    'Push',
    200,
    { success: true, items_pushed: 1 },
    { queue: 'orders', ItemsPushed: 1 },
  ),
  http(
    ['push', { body: fourItems }],
    'Push',
    200,
    { success: true, items_pushed: 4 },
    { ItemsPushed: 4 },
  ),
  http(['push', { body: '{"item":{"order":19}}', headers: key }], 'Push', 200, {
    success: true,
    items_pushed: 1,
  }),
  refused(
    ['push', { body: '{"item":{"order":20}}', headers: key }],
    'Push',
    422,
    'IDEMPOTENCY_CONFLICT',
  ),
  refused(['push', { body: '{"item":}' }], 'Push', 400, 'INVALID_JSON'),
  refused(['push', { body: '{"item":1,"priorty":5}' }], 'Push', 400, 'UNKNOWN_FIELD'),
  refused(['push', { body: '{"item":1,"priority":-1}' }], 'Push', 400, 'INVALID_PRIORITY'),
  refused(
    ['push', { body: 'just text', headers: { 'content-type': 'text/plain' } }],
    'Push',
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ),
  refused(['push', { id: 'no spaces' }], 'Push', 400, 'INVALID_QUEUE_ID'),
  {
    ...refused('push', 'Push', 500, 'INTERNAL'),
    name: 'push of version 1.0',
    file: undefined,
    event: oldVersion,
  },

  http('inspect', 'Inspect', 200, { id: 'orders', count: 6, locked_count: 0 }),
  http('browse', 'Inspect', 200, {
    items: [{ order: 17, price: 9.5 }, 'first', 'urgent', { order: 19 }, { order: 18 }],
  }),
  http('scheduled', 'Inspect', 200, { items: [], count: 0 }),
  refused(['browse', { query: 'cursor=forged' }], 'Inspect', 400, 'INVALID_PARAMETER'),
  http('list', 'Inspect', 200, { queues: [{ id: 'orders', count: 6 }] }),
  http('configure', 'Manage', 200, configuration),
  refused(
    ['configure', { body: '{"capacity":5}', headers: stale }],
    'Manage',
    412,
    'VERSION_MISMATCH',
  ),
  http('configuration', 'Inspect', 200, { ...configuration, source: { from: 'queue' } }),
  http('queue-configure-patterns', 'Manage', 200, { patterns: [{ prefix: 'tenant-7.' }] }),
  refused(
    ['queue-configure-patterns', { body: '{"patterns":[]}', headers: stale }],
    'Manage',
    412,
    'VERSION_MISMATCH',
  ),
  http('queue-patterns', 'Inspect', 200, {
    patterns: [{ prefix: 'tenant-7.', max_deliveries: 5, capacity: null }],
  }),

  http('pop', 'Pop', 200, { items: [{ order: 17, price: 9.5 }], count: 1 }, { ItemsPopped: 1 }),
  http(['pop', { id: 'nobody-pushed-here' }], 'Pop', 200, { items: [], count: 0, details: [] }),
  refused(['pop', { query: 'count=101' }], 'Pop', 400, 'INVALID_COUNT'),
  http('pop-require-ack', 'Pop', 200, {
    items: ['first', 'urgent'],
    locked: true,
    ttl_seconds: 60,
  }),
  http('extend-lock', 'Settle', 200, { success: true, ttl_seconds: 120 }),
  http(
    'acknowledge',
    'Settle',
    200,
    { success: true, items_acknowledged: 2 },
    { ItemsAcknowledged: 2 },
  ),
  refused(['acknowledge', { body: '{}' }], 'Settle', 400, 'INVALID_PARAMETER'),
  http(['pop', { headers: byHeaders }], 'Pop', 200, { items: [{ order: 19 }], locked: true }),
  http('acknowledge-many', 'Settle', 200, {
    success: false,
    items_acknowledged: 1,
    results: [{ success: true }, { lock_id: 'BBBBBBBBBBB', success: false }],
  }),
  http('pop-require-ack', 'Pop', 200, { items: [{ order: 18 }, null] }),
  http('release', 'Settle', 200, { success: true, items_released: 2 }, { ItemsReturned: 2 }),
  http('pop-require-ack', 'Pop', 200, { details: [{ deliveries: 2 }, { deliveries: 2 }] }),
  http('dead-letter', 'Settle', 200, {
    success: true,
    items_dead_lettered: 2,
    dead_letter_queue: 'orders-deadletter',
  }),
  http('redrive', 'Manage', 200, { success: true, items_redriven: 2, items_left: 0 }),
  refused(['redrive', { id: 'orders' }], 'Manage', 400, 'INVALID_QUEUE_ID'),
  http('cancel', 'Manage', 200, { results: [{ id: 'x7Gh2kQz-0-0', result: 'gone' }] }),
  http('move', 'Manage', 200, { results: [{ id: 'x7Gh2kQz-0-0', result: 'gone' }] }),
  http('schedule-put', 'Manage', 200, { name: 'weekly-report', cron: '0 9 * * 1', priority: 3 }),
  refused(['schedule-put', { body: '{"item":1}' }], 'Manage', 400, 'INVALID_PARAMETER'),
  http('schedule', 'Inspect', 200, { item: { report: 'sales' }, time_zone: 'Europe/Berlin' }),
  http('schedules', 'Inspect', 200, { schedules: [{ name: 'weekly-report', paused: false }] }),
  http('schedule-pause', 'Manage', 200, { paused: true }),
  http('schedule-resume', 'Manage', 200, { paused: false }),
  http('schedule-run', 'Manage', 200, { success: true, items_pushed: 1 }, { ItemsPushed: 1 }),
  http('schedule-delete', 'Manage', 200, { success: true, deleted: true }),
  refused('schedule', 'Inspect', 404, 'SCHEDULE_NOT_FOUND'),
  http('purge', 'Manage', 200, { success: true, items_purged: 3 }),
  http('unconfigure', 'Manage', 200, { source: { from: 'default' } }),

  http('rate-configuration', 'Rate', 200, { max_requests: 100, allow_overrides: true }),
  http('rate-configure', 'Rate', 200, oneADay),
  refused(
    ['rate-configure', { body: '{"max_requests":2}', headers: stale }],
    'Rate',
    412,
    'VERSION_MISMATCH',
  ),
  http('rate', 'Rate', 200, { allowed: true, remaining: 0, waited_ms: 0 }, { key: 'user-123' }),
  refused('rate', 'Rate', 429, 'RATE_LIMITED'),
  http(['rate', { query: 'canWait=true&maxWaitMs=0' }], 'Rate', 202, {
    allowed: false,
    position: 1,
  }),
  refused(['rate', { query: 'maxRequests=5' }], 'Rate', 403, 'OVERRIDE_REFUSED'),
  // Its event is as old as it says; the others do not say.
  refused(['rate', { timeEpoch: 1_772_282_096_000 }], 'Rate', 503, 'STORE_UNAVAILABLE'),
  refused(['rate', { id: 'user 123' }], 'Rate', 400, 'INVALID_PARAMETER'),
  refused('rate-ticket', 'Rate', 404, 'TICKET_NOT_FOUND'),
  refused('rate-ticket-give-up', 'Rate', 404, 'TICKET_NOT_FOUND'),
  http('rate-state', 'Rate', 200, { from: 'key', shards: [{ remaining: 0, waiting: 1 }] }),
  http('rate-configure-patterns', 'Rate', 200, { patterns: [{ prefix: 'user-' }] }),
  http('rate-patterns', 'Rate', 200, { patterns: [{ prefix: 'user-', max_requests: 20 }] }),
  http('rate-unconfigure', 'Rate', 200, { max_requests: 20, allow_overrides: false }),

  upkeep(['return-expired-locks', undefined], 'ReturnExpiredLocks', { failed: 0 }, { failed: 0 }),
  upkeep(['nothing', {}], 'ReturnExpiredLocks', { sweeps: 1 }, { sweeps: 1 }),
  // Another may be awake, for locks that earlier events took.
  upkeep(['wake', undefined], 'Wake', { failed: 0 }, { failed: 0 }),
  upkeep(
    ['housekeep', undefined],
    'Housekeep',
    { batchItemFailures: [] },
    { records: 3, queues: 2 },
  ),
  upkeep(
    ['other rows', streamEvent(otherRows)],
    'Housekeep',
    { batchItemFailures: [] },
    { records: 2, queues: 0 },
  ),
  upkeep(
    ['keys alone', keysAlone],
    'Housekeep',
    { batchItemFailures: [] },
    { records: 1, queues: 1 },
  ),

  announce('announce', undefined, { records: 1, events: 1 }),
  announce('a new queue', [{ before: undefined, after: pushed }], { records: 1, events: 1 }),
  announce('a lock that expired', [{ before: held, after: expired }], { records: 1, events: 3 }),
  announce('the last item acknowledged', [{ before: held, after: { ...held, ...locked(0) } }], {
    records: 1,
    events: 1,
  }),
  announce('other rows', otherRows, { records: 2, events: 0 }),
  announce('a record that is none', unreadable, { records: 2, events: 1 }, ['1']),

  upkeep(
    ['apply-inbox', undefined],
    'ApplyInbox',
    { batchItemFailures: [] },
    { messages: 3, queues: 1, applied: 2, repeated: 0, refused: 1 },
  ),
  // As SQS delivers it where its deletion failed.
  upkeep(
    ['apply-inbox again', eventOf('apply-inbox')],
    'ApplyInbox',
    { batchItemFailures: [] },
    { messages: 3, applied: 0, repeated: 2, refused: 1 },
  ),
]
