// How queues, and the keys of rate limits, may be named. The client bundles this file too, so it imports nothing.

const DEAD_LETTER_SUFFIX = '-deadletter'
const idForm = /^[A-Za-z0-9._-]{1,100}$/

/** For the sentence that refuses an id: of a queue, or of a rate limit's key. */
export const ID_RULE = '1 to 100 of the characters A-Z a-z 0-9 . _ - and not . or ..'

/** An id, or one followed by `-deadletter`. */
export function isQueueId(id: unknown): id is string {
  if (typeof id !== 'string') return false
  const base = isDeadLetterQueue(id) ? originOf(id) : id
  return idForm.test(base) && !isDeadLetterQueue(base) && base !== '.' && base !== '..'
}

export const isDeadLetterQueue = (queue: string): boolean =>
  queue.endsWith(DEAD_LETTER_SUFFIX) && queue.length > DEAD_LETTER_SUFFIX.length

export const deadLetterQueueOf = (queue: string): string => queue + DEAD_LETTER_SUFFIX

/** The queue from which the items of a dead-letter queue came. */
export const originOf = (deadLetterQueue: string): string =>
  deadLetterQueue.slice(0, -DEAD_LETTER_SUFFIX.length)
