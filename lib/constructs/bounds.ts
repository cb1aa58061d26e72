// What the numbers and times of a service may be, for the construct and for `cdk deploy -c`.

import { WAIT_MS_MAX } from '../../lambdas/rate/core/bounds.ts'

export type Bounds = { readonly min: number; readonly max: number }

const MONTH_SECONDS = 30 * 86_400

/** A function that sweeps more often than a rule can come loops within its minute. */
export const SWEEP_EVERY_SECONDS: Bounds = { min: 1, max: 60 }
export const IDEMPOTENCY_TTL_SECONDS: Bounds = { min: 60, max: MONTH_SECONDS }
/** Sooner, a consumer may still be starting cold; and no pause between reminders is longer than an hour. */
export const REMIND_AFTER_SECONDS: Bounds = { min: 10, max: 3_600 }
export const RATE_HOLD_SECONDS: Bounds = { min: 0, max: WAIT_MS_MAX / 1_000 }
export const ITEM_AGE_SECONDS: Bounds = { min: 1, max: MONTH_SECONDS }
/** EventBridge takes 0 as for ever, which nobody should get by mistake. */
export const EVENT_ARCHIVE_DAYS: Bounds = { min: 1, max: 36_500 }
/** They are all in one row, which has 2.5 KB then: three write units to take a seat, and as many to leave it. */
export const WAITING_POPS: Bounds = { min: 0, max: 200 }
/** The range that Lambda accepts as the concurrency of an SQS queue. */
export const INBOX_CONCURRENCY_BOUNDS: Bounds = { min: 2, max: 1_000 }
/** More than any account has. */
export const CONCURRENCY_BOUNDS: Bounds = { min: 1, max: 100_000 }
