// Refuses a consumer that cannot work while the stack is synthesised, and not at its first item.

import type { Duration } from 'aws-cdk-lib/core'
import { HELD_TTL_SECONDS_MIN, LOCKS_MAX } from '../../lambdas/consumer/settings.ts'
import {
  ITEMS_PER_POP_MAX,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
} from '../../lambdas/engine/core/limits.ts'
import { isDeadLetterQueue, isQueueId } from '../../lambdas/foundation/queue-id.ts'
import type { PushPopConsumerProps, QueueSelection } from './push-pop-consumer.ts'

/** A run keeps two seconds for its end; a pop in a cold function and a handler need some more. */
const TIMEOUT_SECONDS_MIN = 10
/** Lambda's own default. */
const TIMEOUT_SECONDS_DEFAULT = 3

type Limits = Omit<PushPopConsumerProps, 'service' | 'queues' | 'function'>

export function checkConsumer(id: string, props: Limits, timeout: Duration | undefined): void {
  const refuse = (reason: string): never => {
    throw new Error(`Cannot make the consumer "${id}" because ${reason}`)
  }
  const within = (name: string, value: number | undefined, min: number, max: number) => {
    if (value === undefined || (Number.isInteger(value) && min <= value && value <= max)) return
    refuse(`\`${name}\` must be an integer from ${min} to ${max}, and is ${value}`)
  }
  const timeoutSeconds = timeout?.toSeconds() ?? TIMEOUT_SECONDS_DEFAULT
  if (timeoutSeconds < TIMEOUT_SECONDS_MIN) {
    refuse(
      `the \`timeout\` of its function must be at least ${TIMEOUT_SECONDS_MIN} seconds, and is ${timeoutSeconds}`,
    )
  }
  within('batchSize', props.batchSize, 1, ITEMS_PER_POP_MAX)
  within(
    'lockTtl',
    props.lockTtl?.toSeconds({ integral: false }),
    HELD_TTL_SECONDS_MIN,
    LOCK_TTL_SECONDS_MAX,
  )
  within('queuesAtOnce', props.queuesAtOnce, 1, 100_000)
  within('locksAtOnce', props.locksAtOnce, 1, LOCKS_MAX)
  within('maxDeliveries', props.maxDeliveries, 1, MAX_DELIVERIES_MAX)
  if (props.competing === false && (props.locksAtOnce ?? 1) > 1) {
    refuse('`competing: false` allows one lock, and `locksAtOnce` asks for more')
  }
}

/** What an event's `detail.queue` has to be. */
export function queueMatchers(queues: QueueSelection): unknown[] {
  if (typeof queues === 'string') return idsOf([queues])
  if (Array.isArray(queues)) return idsOf(queues as readonly string[])
  if ('prefix' in queues && queues.prefix !== '') return [{ prefix: queues.prefix }]
  if ('pattern' in queues && queues.pattern.length > 0) return [...queues.pattern]
  throw new Error('Cannot tell which queues a consumer works: `queues` selects none')
}

function idsOf(ids: readonly string[]): string[] {
  if (ids.length === 0) {
    throw new Error('Cannot tell which queues a consumer works: `queues` selects none')
  }
  for (const id of ids) {
    if (!isQueueId(id)) throw new Error(`\`queues\` has "${id}", which is not a queue id`)
  }
  return [...ids]
}

/** A dead-letter queue that is named is meant; but a prefix also matches the dead-letter queues of its queues. */
export const takesDeadLetters = (queues: QueueSelection): boolean =>
  typeof queues === 'string' || Array.isArray(queues)
    ? [queues].flat().some((id) => typeof id === 'string' && isDeadLetterQueue(id))
    : false
