import type { AgainOptions } from '../../lambdas/consumer/core/retry.ts'
import type { Names } from '../../lambdas/foundation/shared/known-options.ts'
import type { PushPopError } from '../errors.ts'
import type { Item } from '../views.ts'

/**
 * Does the work for one item. If it throws, the item goes back to the queue, and with `retry` it comes again later.
 */
export type Handler<T> = (item: Item<T>, context: HandlerContext) => unknown

export type HandlerContext = {
  /** Aborted when the lock is lost or the grace of a stop is over: any further work is in vain. */
  readonly signal: AbortSignal
  readonly lockId: string
  /** Once the handler returns or throws, the item goes to the dead-letter queue instead. */
  deadLetter(reason: string): void
}

export type ConsumeOptions<T = unknown> = {
  /** How many handlers run at once. More than one needs competing consumers, and keeps no order. Default 1. */
  readonly concurrency?: number | undefined
  /** Items per request and lock, worked one after the other: 1–100. Default 1. */
  readonly batchSize?: number | undefined
  /** How long a lock lives if this process dies. We extend it while handlers work. Default 30. */
  readonly lockTtlSeconds?: number | undefined
  /** @deprecated An older name of `batchSize`. */
  readonly batch?: number | undefined
  /** @deprecated An older name of `lockTtlSeconds`. */
  readonly ttlSeconds?: number | undefined
  /** Release failed items with a delay. Default: at once, with pauses between failures. */
  readonly retry?: AgainOptions | undefined
  /** Share the queue with other consumers. Default: true if `concurrency` is more than one. */
  readonly competing?: boolean | undefined
  /** Stops the work: takes nothing more, lets handlers finish, gives back the rest. */
  readonly signal?: AbortSignal | undefined
  /** How long handlers may go on after that. Default: as long as they like. */
  readonly graceMs?: number | undefined
  /** The longest pause between looks at an empty queue. Default 5,000. */
  readonly idleMsMax?: number | undefined
  /** Called for every failure; none of them ends the work. Default: writes a line to the console. */
  readonly onError?: ((failure: ConsumeFailure<T>) => void) | undefined
}

export const consumeNames: Names<ConsumeOptions> = {
  concurrency: 0,
  batchSize: 0,
  lockTtlSeconds: 0,
  batch: 0,
  ttlSeconds: 0,
  retry: 0,
  competing: 0,
  graceMs: 0,
  idleMsMax: 0,
  onError: 0,
  signal: 0,
}

export type ConsumeFailure<T = unknown> =
  /** The handler threw. The item goes back, or to the dead letters if the handler asked for that. */
  | { readonly kind: 'handler'; readonly item: Item<T>; readonly error: unknown }
  /** The lock ended before its items were settled: they are delivered again. */
  | {
      readonly kind: 'lock-lost'
      readonly items: readonly Item<T>[]
      readonly error: PushPopError
    }
  /** A request failed for now; we try again. */
  | { readonly kind: 'request'; readonly error: PushPopError }

/** How many items had which outcome. */
export type Consumed = {
  readonly acknowledged: number
  readonly released: number
  readonly deadLettered: number
}
