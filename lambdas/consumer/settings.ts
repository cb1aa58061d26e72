// What tells a consumer what to do: the event that wakes it, the one by which it wakes the next run, and its
// settings, from code and from the construct.

import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
} from '../../engine/core/limits.ts'
import { isQueueId } from '../../shared/bounds.ts'
import { checkOptions, type Names } from '../../shared/options.ts'
import { type AgainOptions, retryOf } from '../../shared/worker/retries.ts'
import type { Settings } from '../../shared/worker/run.ts'
import { HELD_TTL_SECONDS_MIN, within } from '../../shared/worker/which-queues.ts'
import { type Environment, numberIn } from '../runtime/log.ts'

export { HELD_TTL_SECONDS_MIN }

export const CONSUMER_SOURCE = 'pushpop.consumer'
export const RUN_CONTINUED = 'Run Continued'

/** An event of the bus. Only the queue matters, so `{"detail":{"queue":"orders"}}` will do. */
export type ConsumerEvent = {
  readonly 'detail-type'?: string
  readonly detail: { readonly queue: string }
}

export function queueOf(event: unknown): string {
  const queue = ((event ?? {}) as Partial<ConsumerEvent>).detail?.queue
  if (isQueueId(queue)) return queue
  throw new TypeError(
    'Cannot run because the event names no queue: its detail.queue is not a queue id',
  )
}

/** For the consumer of this name only, because others may work on the same queue. */
export const continuation = (queue: string, consumer: string, bus: string, nowMs: number) => ({
  EventBusName: bus,
  Time: new Date(nowMs),
  Source: CONSUMER_SOURCE,
  DetailType: RUN_CONTINUED,
  Detail: JSON.stringify({ queue, consumer }),
})

export type ConsumerOptions = {
  /** The most items that the handler gets at once: 1–100. Default 1. */
  readonly batchSize?: number | undefined
  /** How long a lock lives if the run dies: 5–300. We extend it while the handler works. Default 30. */
  readonly lockTtlSeconds?: number | undefined
  /**
   * Dead-letter an item after this many failures. Default: the queue's own `max_deliveries`; without one,
   * never.
   */
  readonly maxDeliveries?: number | undefined
  /** When failed items come again. Default: after 1, 2, 4 … seconds, up to five minutes. */
  readonly retry?: AgainOptions | undefined
  /** How many locks one run holds at once. More than one needs competing consumers, and keeps no order. Default 1. */
  readonly locks?: number | undefined
  /** Share a queue with other runs and consumers. Default: true if `locks` is more than one. */
  readonly competing?: boolean | undefined
}

const optionNames: Names<ConsumerOptions> = {
  batchSize: 0,
  lockTtlSeconds: 0,
  maxDeliveries: 0,
  retry: 0,
  locks: 0,
  competing: 0,
}

/** The names that the construct sets; `lib/constructs/push-pop-consumer.ts` imports them. */
export const variables = {
  name: 'PUSHPOP_CONSUMER_NAME',
  bus: 'PUSHPOP_CONSUMER_BUS',
  batchSize: 'PUSHPOP_CONSUMER_BATCH_SIZE',
  lockTtlSeconds: 'PUSHPOP_CONSUMER_LOCK_TTL_SECONDS',
  maxDeliveries: 'PUSHPOP_CONSUMER_MAX_DELIVERIES',
  locks: 'PUSHPOP_CONSUMER_LOCKS',
  competing: 'PUSHPOP_CONSUMER_COMPETING',
  /** `no` if a prefix or a pattern selects the queues, because it also matches their dead-letter queues. */
  deadLetters: 'PUSHPOP_CONSUMER_DEAD_LETTERS',
} as const

/** Each lock is a range in the record, and a handler at work. */
export const LOCKS_MAX = 100

/** Options in code win over those that the construct set. Refuses values that cannot work before the first pop. */
export function settingsOf(options: ConsumerOptions, environment: Environment): Settings {
  checkOptions(options, optionNames)
  const number = (name: 'batchSize' | 'lockTtlSeconds' | 'maxDeliveries' | 'locks') =>
    options[name] ?? numberIn(environment, variables[name])
  const locks = within('locks', number('locks') ?? 1, 1, LOCKS_MAX)
  const deliveries = number('maxDeliveries')
  const set = environment[variables.competing]
  const competing = options.competing ?? (set ? set === 'yes' : locks > 1)
  if (locks > 1 && !competing) {
    throw new TypeError(
      `Cannot hold ${locks} locks at once without competing consumers: on an exclusive queue one lock is live`,
    )
  }
  return {
    batchSize: within('batchSize', number('batchSize') ?? 1, 1, ITEMS_PER_POP_MAX),
    lockTtlSeconds: within(
      'lockTtlSeconds',
      number('lockTtlSeconds') ?? LOCK_TTL_SECONDS_DEFAULT,
      HELD_TTL_SECONDS_MIN,
      LOCK_TTL_SECONDS_MAX,
    ),
    deliveriesMax:
      deliveries === undefined
        ? Number.POSITIVE_INFINITY
        : within('maxDeliveries', deliveries, 1, MAX_DELIVERIES_MAX),
    retry: retryOf(options.retry),
    locks,
    competing,
  }
}
