/** What the stack tells its functions, by name. A consumer has more: `lambdas/consumer/settings.ts`. */
export const serviceVariables = {
  service: 'PUSHPOP_SERVICE',
  logLevel: 'PUSHPOP_LOG_LEVEL',
  table: 'PUSHPOP_TABLE',
  bucket: 'PUSHPOP_BUCKET',
  /** `off`: nobody announces, so the engine leaves out the flags for it. */
  events: 'PUSHPOP_EVENTS',
  eventBus: 'PUSHPOP_EVENT_BUS',
  idempotencyTtlSeconds: 'PUSHPOP_IDEMPOTENCY_TTL_SECONDS',
  remindAfterSeconds: 'PUSHPOP_REMIND_AFTER_SECONDS',
  sweepEverySeconds: 'PUSHPOP_SWEEP_EVERY_SECONDS',
  rateHoldMs: 'PUSHPOP_RATE_HOLD_MS',
} as const
