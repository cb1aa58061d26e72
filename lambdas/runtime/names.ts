// Names as plain data: of events, functions, metrics and environment variables. The functions, the stack, its
// dashboard and alarms, and the tests of their pages share them, so that they cannot disagree.

export const EVENT_SOURCE = 'pushpop'

/** By the kind of the transition: the `detail-type` that rules name. */
export const detailTypes = {
  'items-available': 'Items Available',
  'lock-expired': 'Lock Expired',
  'item-dead-lettered': 'Item Dead-Lettered',
  'queue-drained': 'Queue Drained',
} as const

export type DetailType = (typeof detailTypes)[keyof typeof detailTypes]

export type FunctionName =
  | 'Push'
  | 'Pop'
  | 'Settle'
  | 'Inspect'
  | 'Manage'
  | 'Rate'
  | 'ReturnExpiredLocks'
  | 'Housekeep'
  | 'Health'

/** Functions that depend on a setting of the service: whether it has events, an inbox, or Wake. */
export type OptionalFunctionName = 'Announce' | 'ApplyInbox' | 'Wake'

export const METRIC_NAMESPACE = 'PushPop'

/** The one dimension: the stack's name. Never the queue, of which there may be any number. */
export const SERVICE_DIMENSION = 'Service'

type MetricUnit = 'Count' | 'Seconds' | 'Milliseconds'

export const metrics = {
  ItemsPushed: 'Count',
  /** Pushed items that are for later. */
  ItemsScheduled: 'Count',
  ItemsPopped: 'Count',
  ItemsAcknowledged: 'Count',
  /** Released by a consumer or returned by the sweeper; not items that a pop took from an expired lock. */
  ItemsReturned: 'Count',
  ItemsDeadLettered: 'Count',
  /** Expired items that were taken out of their queues: discarded, or on their way to the dead letters. */
  ItemsExpired: 'Count',
  /** Items that were accepted for the inbox (202). Once applied, they count as pushed. */
  InboxAccepted: 'Count',
  /** Items that came out of the inbox into their queues. */
  InboxApplied: 'Count',
  /** Inbox messages that could not be pushed, and went to the dead letters. */
  InboxRefused: 'Count',
  /**
   * How long the oldest message has been in the inbox. SQS's own metric leaves out messages that it delivered often.
   */
  InboxWaiting: 'Seconds',
  /** Conditions that did not hold, and transactions that met others: mostly lost races. */
  Conflicts: 'Count',
  /** Requests to DynamoDB, including repeated ones. */
  Attempts: 'Count',
  SegmentsOffloaded: 'Count',
  SegmentsRecalled: 'Count',
  /** The slowest read of a segment, or of a part of a batch, from S3. */
  SegmentLoadTime: 'Milliseconds',
  /** Reads from S3 that failed after all their attempts. */
  SegmentLoadFailures: 'Count',
  /** Segments that could not be copied to S3; housekeeping tries again. */
  SegmentOffloadFailures: 'Count',
  /** Queues whose housekeeping failed, to be tried again. */
  HousekeepingFailures: 'Count',
  /** Records of a newer format in the stream: deploy that version here as well. */
  FormatsUnknown: 'Count',
  /** Queues that the sweeper could not finish, and runs that could not even begin. */
  SweepFailures: 'Count',
  /** How long the lock, or the queue that was not served, that waited longest had been due. */
  LockReturnLag: 'Seconds',
  /** How long the oldest item of a pop had waited. */
  OldestItemAge: 'Seconds',
  /** Pops that took longer than `SLOW_CALL_MS`, not counting the time for which their callers asked them to wait. */
  SlowPops: 'Count',
  /** Answers that are our fault: 500 and 503. */
  Errors5xx: 'Count',
} as const satisfies Readonly<Record<string, MetricUnit>>

/** An ordinary call takes some 20 ms, a cold start less than a second: what takes longer is slow. */
export const SLOW_CALL_MS = 2_000

export type MetricName = keyof typeof metrics

/** The environment of the functions: the constructs set it, and the functions read it. */
export const variables = {
  service: 'PUSHPOP_SERVICE',
  logLevel: 'PUSHPOP_LOG_LEVEL',
  table: 'PUSHPOP_TABLE',
  bucket: 'PUSHPOP_BUCKET',
  /** The address of the inbox, for the functions that send to it and apply it. */
  inbox: 'PUSHPOP_INBOX',
  /** The address of its dead-letter queue, for messages that belong to no queue. */
  inboxFailures: 'PUSHPOP_INBOX_FAILURES',
  /** The ARN, for the function that announces. */
  eventBus: 'PUSHPOP_EVENT_BUS',
  /** `off` if the stack announces nothing. */
  events: 'PUSHPOP_EVENTS',
  idempotencyTtlSeconds: 'PUSHPOP_IDEMPOTENCY_TTL_SECONDS',
  remindAfterSeconds: 'PUSHPOP_REMIND_AFTER_SECONDS',
  sweepEverySeconds: 'PUSHPOP_SWEEP_EVERY_SECONDS',
  /** The name of Wake, for the functions that call it. */
  wake: 'PUSHPOP_WAKE',
  /** Patterns that the deployment brings, for the sweeper. */
  queueConfig: 'PUSHPOP_QUEUE_CONFIG',
  /** Schedules that the deployment brings, for the sweeper. */
  schedules: 'PUSHPOP_SCHEDULES',
  rateHoldMs: 'PUSHPOP_RATE_HOLD_MS',
  waitingPops: 'PUSHPOP_WAITING_POPS',
} as const
