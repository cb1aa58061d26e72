import { QueueError } from './errors.ts'

const DEAD_LETTER_SUFFIX = '-deadletter'
const queueIdForm = /^[A-Za-z0-9._-]{1,100}$/

/** 1–100 characters of `A-Z a-z 0-9 . _ -`, or such an id with `-deadletter` behind it. */
export function isQueueId(id: unknown): id is string {
  if (typeof id !== 'string') return false
  const base = isDeadLetterQueue(id) ? id.slice(0, -DEAD_LETTER_SUFFIX.length) : id
  return queueIdForm.test(base) && !isDeadLetterQueue(base) && base !== '.' && base !== '..'
}

export function checkQueueId(id: unknown): void {
  if (isQueueId(id)) return
  throw new QueueError(
    'INVALID_QUEUE_ID',
    'A queue id must be 1 to 100 of the characters A-Z a-z 0-9 . _ - and not . or ..',
    { field: 'id' },
  )
}

export const isDeadLetterQueue = (queue: string): boolean =>
  queue.endsWith(DEAD_LETTER_SUFFIX) && queue.length > DEAD_LETTER_SUFFIX.length

export const deadLetterQueueOf = (queue: string): string => queue + DEAD_LETTER_SUFFIX

/** The queue that items of a dead-letter queue came from. */
export const originOf = (deadLetterQueue: string): string =>
  deadLetterQueue.slice(0, -DEAD_LETTER_SUFFIX.length)
