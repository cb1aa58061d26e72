// What a consumer may be told. One that cannot work is refused while the stack is synthesised, and not at its first
// item.

import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
} from '../../engine/core/limits.ts'
import { HELD_TTL_SECONDS_MIN, LOCKS_MAX } from '../../lambdas/consumer/settings.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import type { Bundling } from './function-settings.ts'
import {
  aService,
  aTopic,
  bounds,
  type Check,
  type Checks,
  checkProperties,
  duration,
  integer,
  isObject,
  listOf,
  must,
  mustBe,
  queueSelection,
  settings,
  text,
  yesOrNo,
} from './property-checks.ts'
import type { PushPop } from './push-pop.ts'

export type PushPopConsumerProps = {
  readonly service: PushPop
  readonly queues: QueueSelection
  /** Your own function, whose handler was made by `consumer(…)`, or the file to make one of. */
  readonly function: LambdaFunction | ConsumerFunction | string
  /** The most items that the handler gets at once: 1–100. Default: 1. */
  readonly batchSize?: number
  /** How long a lock lives if a run dies: 5–300 seconds. Default: 30. */
  readonly lockTtl?: Duration
  /**
   * How many runs work at once: this reserves part of the account's concurrency for the function. A new account has
   * none to reserve. Default: unbounded.
   */
  readonly queuesAtOnce?: number
  /** How many locks a run holds at once; more than one keeps no order. Default: 1. */
  readonly locksAtOnce?: number
  /** Dead-letters an item after this many failures. Default: the queue's own setting. */
  readonly maxDeliveries?: number
  /** Several runs may share a queue. Default: true if `locksAtOnce` is more than one. */
  readonly competing?: boolean
  /** Gets an alarm when events could not be delivered, so that queues may wait until the next announcement. */
  readonly alarmTopic?: ITopic
}

/** Queues by their ids, by a prefix, or by anything that EventBridge can match. */
export type QueueSelection =
  | string
  | readonly string[]
  | { readonly prefix: string }
  /** Matchers of an event pattern, any of which will do: `[{ wildcard: 'tenant-*-mails' }]`. */
  | { readonly pattern: readonly (string | Readonly<Record<string, unknown>>)[] }

export type ConsumerFunction = {
  /** The file whose export `handler` was made by `consumer(…)`; we bundle it. */
  readonly entry: string
  /** Default: five minutes. The next run does the rest. */
  readonly timeout?: Duration
  /** Default: 512. */
  readonly memoryMb?: number
  readonly environment?: Readonly<Record<string, string>>
  readonly bundling?: Bundling
}

/** A run keeps two seconds for its end; a pop in a cold function and a handler need some more. Lambda's most. */
const TIMEOUT_SECONDS = { min: 10, max: 900 }
/** Lambda's own default. */
const TIMEOUT_SECONDS_DEFAULT = 3
const MEMORY_MB = { min: 128, max: 10_240 }

const bundling = settings<Bundling>({
  external: listOf(text),
  minify: yesOrNo,
  sourceMap: yesOrNo,
  banner: text,
  define: must('an object with a text for each name', isObject),
})

const toMake = settings<ConsumerFunction>(
  {
    entry: must('the file with the handler', (value) => typeof value === 'string' && value !== ''),
    timeout: duration(TIMEOUT_SECONDS),
    memoryMb: integer(MEMORY_MB),
    environment: must('an object with a text for each name', isObject),
    bundling,
  },
  ['entry'],
)

/** One of yours may have any properties: only its class counts. */
const givenFunction: Check = (value, name) => {
  if (value instanceof LambdaFunction || (typeof value === 'string' && value !== '')) {
    return undefined
  }
  if (isObject(value) && !Construct.isConstruct(value)) return toMake(value, name)
  return mustBe(
    name,
    'the file with the handler, { entry } or a Function that your app makes',
    value,
  )
}

const checks: Checks<PushPopConsumerProps> = {
  service: aService,
  queues: queueSelection,
  function: givenFunction,
  batchSize: integer({ min: 1, max: ITEMS_PER_POP_MAX }),
  lockTtl: duration({ min: HELD_TTL_SECONDS_MIN, max: LOCK_TTL_SECONDS_MAX }),
  queuesAtOnce: integer(bounds.concurrency),
  locksAtOnce: integer({ min: 1, max: LOCKS_MAX }),
  maxDeliveries: integer({ min: 1, max: MAX_DELIVERIES_MAX }),
  competing: yesOrNo,
  alarmTopic: aTopic,
}

export function checkConsumer(id: string, props: PushPopConsumerProps): void {
  const needed = ['service', 'queues', 'function'] as const
  checkProperties(`consumer "${id}"`, props, checks, needed)
  if (props.service.events === undefined) {
    throw refusal(id, 'its service has `events: false`, and nothing else would wake it')
  }
  if (props.competing === false && (props.locksAtOnce ?? 1) > 1) {
    throw refusal(id, '`competing: false` allows one lock, and `locksAtOnce` asks for more')
  }
}

/** A function that somebody else made has its own. */
export function checkTimeout(id: string, timeout: Duration | undefined): void {
  const seconds = timeout?.toSeconds() ?? TIMEOUT_SECONDS_DEFAULT
  if (seconds >= TIMEOUT_SECONDS.min) return
  throw refusal(
    id,
    `the \`timeout\` of its function must be at least ${TIMEOUT_SECONDS.min} seconds, and is ${seconds}`,
  )
}

const refusal = (id: string, reason: string): Error =>
  new Error(`Cannot make the consumer "${id}" because ${reason}`)

/** What an event's `detail.queue` has to be. */
export function queueMatchers(queues: QueueSelection): unknown[] {
  if (typeof queues === 'string') return [queues]
  if (Array.isArray(queues)) return [...queues]
  return 'prefix' in queues ? [{ prefix: queues.prefix }] : [...(queues as Pattern).pattern]
}

type Pattern = Extract<QueueSelection, { readonly pattern: unknown }>

/** A dead-letter queue that is named is meant; but a prefix also matches the dead-letter queues of its queues. */
export const takesDeadLetters = (queues: QueueSelection): boolean =>
  typeof queues === 'string' || Array.isArray(queues)
    ? [queues].flat().some((id) => typeof id === 'string' && isDeadLetterQueue(id))
    : false
