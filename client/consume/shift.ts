import type { Retry } from '../../lambdas/consumer/core/run.ts'
import type { Consumed, ConsumeFailure } from './options.ts'

/** What the workers of one `consume` share. */
export type Shift<T> = {
  /** Take nothing more. */
  readonly stop: AbortSignal
  /** Do not wait for handlers any more. */
  readonly graceOver: AbortSignal
  readonly counts: { -readonly [K in keyof Consumed]: Consumed[K] }
  /** If absent, failed items go back at once. */
  readonly retry: Retry | undefined
  readonly competing: boolean
  report(failure: ConsumeFailure<T>): void
}
