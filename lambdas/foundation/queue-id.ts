import { QueueError } from './errors.ts'
import { ID_RULE, isDeadLetterQueue, isQueueId, originOf } from './shared/queue-id.ts'

export * from './shared/queue-id.ts'

export function checkQueueId(id: unknown): void {
  if (isQueueId(id)) return
  throw new QueueError('INVALID_QUEUE_ID', `A queue id must be ${ID_RULE}${whyNot(id)}`, {
    field: 'id',
  })
}

/** `x-deadletter-deadletter` is made of the right characters, so the rule alone would explain nothing. */
export const whyNot = (id: unknown): string =>
  typeof id === 'string' && isDeadLetterQueue(id) && isDeadLetterQueue(originOf(id))
    ? '; a dead-letter queue has none of its own, so "-deadletter" may stand at the end once'
    : ''
