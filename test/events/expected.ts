import type { FunctionName } from '../../lambdas/runtime/function-name.ts'

/** What a function must make of an event; a number is the status of an answer over HTTP. */
export type Expected = {
  /** `events/<name>.json` */
  readonly event: string
  readonly function: FunctionName | 'Announce'
  readonly outcome:
    | { readonly status: number; readonly body: object }
    /** What a function without HTTP returns. */
    | { readonly returned: object }
  /** In the last line of its log. */
  readonly logged: object
}

const http = (
  event: string,
  name: FunctionName,
  status: number,
  body: object,
  logged: object = {},
): Expected => ({
  event,
  function: name,
  outcome: { status, body },
  logged: { message: 'request', function: name, status, ...logged },
})

const refused = (event: string, name: FunctionName, status: number, error_code: string) =>
  http(event, name, status, { success: false, error_code }, { error_code })

const upkeep = (event: string, name: FunctionName, returned: object, logged: object): Expected => ({
  event,
  function: name,
  outcome: { returned },
  logged: { message: 'run', level: 'info', function: name, ...logged },
})

const announce = (event: string, logged: object, failed: readonly string[] = []): Expected => ({
  event,
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

const configuration = {
  segment_size: 100,
  buffer_segments: 1,
  max_deliveries: 3,
  capacity: 100_000,
}

const oneADay = { max_requests: 1, window_millis: 86_400_000 }

/**
 * Every event, in an order in which each meets what it is about: some push, others pop what
 * those pushed, and the lock that an acknowledgement names is the one that a pop before it made.
 */
export const expectedEvents: readonly Expected[] = [
  http('health', 'Health', 200, { status: 'ok' }),
  refused('health-not-found', 'Health', 404, 'NOT_FOUND'),
  refused('health-method-not-allowed', 'Health', 405, 'METHOD_NOT_ALLOWED'),

  http(
    'push',
    'Push',
    200,
    { success: true, items_pushed: 1 },
    { queue: 'orders', ItemsPushed: 1 },
  ),
  http('push-bulk', 'Push', 200, { success: true, items_pushed: 4 }, { ItemsPushed: 4 }),
  http('push-idempotent', 'Push', 200, { success: true, items_pushed: 1 }),
  refused('push-another-body', 'Push', 422, 'IDEMPOTENCY_CONFLICT'),
  refused('push-not-json', 'Push', 400, 'INVALID_JSON'),
  refused('push-unknown-field', 'Push', 400, 'UNKNOWN_FIELD'),
  refused('push-bad-priority', 'Push', 400, 'INVALID_PRIORITY'),
  refused('push-text', 'Push', 415, 'UNSUPPORTED_MEDIA_TYPE'),
  refused('push-bad-id', 'Push', 400, 'INVALID_QUEUE_ID'),
  refused('push-old-version', 'Push', 500, 'INTERNAL'),

  http('inspect', 'Inspect', 200, { id: 'orders', count: 6, locked_count: 0 }),
  http('browse', 'Inspect', 200, {
    items: [{ order: 17, price: 9.5 }, 'first', 'urgent', { order: 19 }, { order: 18 }],
  }),
  refused('browse-bad-cursor', 'Inspect', 400, 'INVALID_PARAMETER'),
  http('list', 'Inspect', 200, { queues: [{ id: 'orders', count: 6 }] }),
  http('configure', 'Manage', 200, configuration),
  refused('configure-stale', 'Manage', 412, 'VERSION_MISMATCH'),
  http('configuration', 'Inspect', 200, configuration),

  http('pop', 'Pop', 200, { items: [{ order: 17, price: 9.5 }], count: 1 }, { ItemsPopped: 1 }),
  http('pop-nothing', 'Pop', 200, { items: [], count: 0, details: [] }),
  refused('pop-bad-count', 'Pop', 400, 'INVALID_COUNT'),
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
  refused('acknowledge-missing-lock', 'Settle', 400, 'INVALID_PARAMETER'),
  http('pop-by-headers', 'Pop', 200, { items: [{ order: 19 }], locked: true }),
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
  refused('redrive-no-dead-letter-queue', 'Manage', 400, 'INVALID_QUEUE_ID'),
  http('purge', 'Manage', 200, { success: true, items_purged: 2 }),

  http('rate-configuration', 'Rate', 200, { max_requests: 100, allow_overrides: true }),
  http('rate-configure', 'Rate', 200, oneADay),
  refused('rate-configure-stale', 'Rate', 412, 'VERSION_MISMATCH'),
  http('rate', 'Rate', 200, { allowed: true, remaining: 0, waited_ms: 0 }, { key: 'user-123' }),
  refused('rate-too-many', 'Rate', 429, 'RATE_LIMITED'),
  http('rate-wait', 'Rate', 202, { allowed: false, position: 1 }),
  refused('rate-override', 'Rate', 403, 'OVERRIDE_REFUSED'),
  // Its event is as old as it says; the others do not say.
  refused('rate-clock-off', 'Rate', 503, 'STORE_UNAVAILABLE'),
  refused('rate-bad-key', 'Rate', 400, 'INVALID_PARAMETER'),
  refused('rate-ticket', 'Rate', 404, 'TICKET_NOT_FOUND'),
  refused('rate-ticket-give-up', 'Rate', 404, 'TICKET_NOT_FOUND'),
  http('rate-state', 'Rate', 200, { from: 'key', shards: [{ remaining: 0, waiting: 1 }] }),
  http('rate-configure-patterns', 'Rate', 200, { patterns: [{ prefix: 'user-' }] }),
  http('rate-patterns', 'Rate', 200, { patterns: [{ prefix: 'user-', max_requests: 20 }] }),
  http('rate-unconfigure', 'Rate', 200, { max_requests: 20, allow_overrides: false }),

  upkeep('return-expired-locks', 'ReturnExpiredLocks', { failed: 0 }, { failed: 0 }),
  upkeep('return-expired-locks-bare', 'ReturnExpiredLocks', { sweeps: 1 }, { sweeps: 1 }),
  upkeep('housekeep', 'Housekeep', { batchItemFailures: [] }, { records: 3, queues: 2 }),
  upkeep('housekeep-other-rows', 'Housekeep', { batchItemFailures: [] }, { records: 2, queues: 0 }),
  upkeep(
    'housekeep-old-version',
    'Housekeep',
    { batchItemFailures: [] },
    { records: 1, queues: 1 },
  ),

  announce('announce', { records: 1, events: 1 }),
  announce('announce-new-queue', { records: 1, events: 1 }),
  announce('announce-expired-and-dead', { records: 1, events: 3 }),
  announce('announce-drained', { records: 1, events: 1 }),
  announce('announce-other-rows', { records: 2, events: 0 }),
  announce('announce-unreadable', { records: 2, events: 1 }, ['4421584500000000017450430007']),
]
