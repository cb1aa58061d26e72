import type { Consumed, ConsumeFailure } from './options.ts'

/** What the workers of one `consume` share. */
export type Shift<T> = {
  /** Nothing more is to be taken. */
  readonly stop: AbortSignal
  /** Handlers are not waited for any more. */
  readonly graceOver: AbortSignal
  readonly counts: { -readonly [K in keyof Consumed]: Consumed[K] }
  report(failure: ConsumeFailure<T>): void
}
