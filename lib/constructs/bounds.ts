// What the numbers and times of a service may be, for the construct and for `cdk deploy -c`.

import {
  IDEMPOTENCY_TTL_SECONDS_MAX,
  IDEMPOTENCY_TTL_SECONDS_MIN,
  REMIND_AFTER_SECONDS_MAX,
  REMIND_AFTER_SECONDS_MIN,
} from '../../engine/core/limits.ts'
import { WAIT_MS_MAX } from '../../rate/core/bounds.ts'

export type Bounds = { readonly min: number; readonly max: number }

/** A function that sweeps more often than a rule can come loops within its minute. */
export const SWEEP_EVERY_SECONDS: Bounds = { min: 1, max: 60 }
export const IDEMPOTENCY_TTL_SECONDS: Bounds = {
  min: IDEMPOTENCY_TTL_SECONDS_MIN,
  max: IDEMPOTENCY_TTL_SECONDS_MAX,
}
export const REMIND_AFTER_SECONDS: Bounds = {
  min: REMIND_AFTER_SECONDS_MIN,
  max: REMIND_AFTER_SECONDS_MAX,
}
export const RATE_HOLD_SECONDS: Bounds = { min: 0, max: WAIT_MS_MAX / 1_000 }
export const ITEM_AGE_SECONDS: Bounds = { min: 1, max: 30 * 86_400 }
/** EventBridge takes 0 as for ever, which nobody should get by mistake. */
export const EVENT_ARCHIVE_DAYS: Bounds = { min: 1, max: 36_500 }
/** They are all in one row, which has 2.5 KB then: three write units to take a seat, and as many to leave it. */
export const WAITING_POPS: Bounds = { min: 0, max: 200 }
/** The range that Lambda accepts as the concurrency of an SQS queue. */
export const INBOX_CONCURRENCY_BOUNDS: Bounds = { min: 2, max: 1_000 }
/** More than any account has. */
export const CONCURRENCY_BOUNDS: Bounds = { min: 1, max: 100_000 }
