// Refuses a consumer that cannot work while the stack is synthesised, and not at its first item.

import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
} from '../../engine/core/limits.ts'
import { HELD_TTL_SECONDS_MIN, LOCKS_MAX } from '../../lambdas/consumer/settings.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import type { Bundling } from '../bundling/bundling.ts'
import { CONCURRENCY_BOUNDS } from './bounds.ts'
import {
  aService,
  type Check,
  type Checks,
  checkProperties,
  duration,
  integer,
  isObject,
  listOf,
  must,
  mustBe,
  settings,
  text,
  yesOrNo,
} from './property-checks.ts'
import type { ConsumerFunction, PushPopConsumerProps, QueueSelection } from './push-pop-consumer.ts'
import { queueSelection } from './queue-names.ts'
import { aTopic } from './service-checks.ts'

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
  queuesAtOnce: integer(CONCURRENCY_BOUNDS),
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
