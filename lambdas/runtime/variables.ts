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
