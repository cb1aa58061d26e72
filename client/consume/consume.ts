import { checkHandler } from '../../lambdas/consumer/core/handler.ts'
import { inShort } from '../../lambdas/consumer/core/in-short.ts'
import { retryOf } from '../../lambdas/consumer/core/retry.ts'
import { untilGrace } from '../../lambdas/consumer/core/stop.ts'
import { LOCK_TTL_SECONDS_DEFAULT } from '../../lambdas/foundation/shared/bounds.ts'
import { checkOptions } from '../../lambdas/foundation/shared/known-options.ts'
import type { Queue } from '../queue.ts'
import { idleQueue } from './idle.ts'
import {
  type Consumed,
  type ConsumeFailure,
  type ConsumeOptions,
  consumeNames,
  type Handler,
} from './options.ts'
import type { Shift } from './shift.ts'
import { work } from './worker.ts'

/** The longest time that an item waits for a consumer that has found the queue empty for a while. */
const IDLE_MS_MAX = 5_000

/**
 * Works a queue until the signal comes, and resolves when it holds no lock any more. If the service refuses
 * for good (rights, address, parameters), it settles the items that it holds, and then rejects.
 */
export async function consume<T>(
  queue: Queue<T>,
  handler: Handler<T>,
  options: ConsumeOptions<T> = {},
): Promise<Consumed> {
  checkHandler(handler)
  checkOptions(options, consumeNames)
  const { concurrency = 1, signal, graceMs } = options
  const batch = options.batchSize ?? options.batch ?? 1
  const ttlSeconds = options.lockTtlSeconds ?? options.ttlSeconds ?? LOCK_TTL_SECONDS_DEFAULT
  const { competing = concurrency > 1, onError = toConsole, idleMsMax = IDLE_MS_MAX } = options
  check(concurrency, competing)

  const { stop, graceOver, halt, over } = untilGrace(signal, graceMs)
  let failure: { readonly error: unknown } | undefined
  const fail = (error: unknown) => {
    failure ??= { error }
    halt()
  }
  const shift: Shift<T> = {
    retry: options.retry === undefined ? undefined : retryOf(options.retry),
    competing,
    stop,
    graceOver,
    counts: { acknowledged: 0, released: 0, deadLettered: 0 },
    report(one) {
      try {
        onError(one)
      } catch (error) {
        fail(error)
      }
    },
  }
  const idle = idleQueue(stop, idleMsMax)
  const shared = { queue, handler, batch, ttlSeconds, competing, idle, shift }
  const workers = Array.from({ length: concurrency }, (_, number) =>
    work({ ...shared, number }).catch(fail),
  )
  await Promise.all(workers)
  over()
  if (failure !== undefined) throw failure.error
  return shift.counts
}

function check(concurrency: number, competing: boolean): void {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`concurrency must be an integer from 1, and is ${concurrency}`)
  }
  if (concurrency > 1 && !competing) {
    throw new TypeError(
      `Cannot consume ${concurrency} locks at once without competing consumers: on an exclusive queue one lock is live`,
    )
  }
}

function toConsole<T>(failure: ConsumeFailure<T>): void {
  console.error(`PushPop: ${sentences[failure.kind]}:`, inShort(failure.kind, failure.error))
}

const sentences: Readonly<Record<ConsumeFailure['kind'], string>> = {
  handler: 'a handler failed, and its item goes back to the queue unless it was dead-lettered',
  'lock-lost': 'a lock ended before its items were settled, and they are delivered again',
  request: 'a request failed and is tried again',
}
