// What a caller can run into: numbers, and how queues and the keys of rate limits may be named. The client, the HTTP
// functions and the engine all read it here, so they refuse alike. The client bundles this file, so it imports nothing.

/** The largest priority: fits a signed 32-bit integer, as most clients' integers do. */
export const PRIORITY_MAX = 2_147_483_647

/** A body of 2.5 MiB holds about this many small items. */
export const ITEMS_PER_PUSH_MAX = 1_000
/** Priorities in one push: its one write names each, in some 35 bytes of an expression of 4 KB. */
export const PRIORITIES_PER_PUSH_MAX = 100
export const ITEM_BYTES_MAX = 256 * 1024
/** 2.5 MiB: a Lambda takes 6 MB after JSON escaping, which doubles a text full of quotes. */
export const PUSH_BYTES_MAX = 2.5 * 1024 * 1024

export const ITEMS_PER_POP_MAX = 100

export const LOCK_TTL_SECONDS_MIN = 1
export const LOCK_TTL_SECONDS_MAX = 300
export const LOCK_TTL_SECONDS_DEFAULT = 30

/** A day: an item released with a delay takes up room in the queue's record until then. */
export const RELEASE_DELAY_SECONDS_MAX = 86_400

export const MAX_DELIVERIES_MAX = 1_000

/** Five years: how long after its push an item may expire. */
export const ITEM_TTL_SECONDS_MAX = 157_766_400

/** Queues on a page of the list: as many records as one BatchGetItem reads. */
export const QUEUES_PER_PAGE_MAX = 100

/** How long a pop may wait for items: API Gateway gives up after 30 s, and the pop itself takes some time, too. */
export const WAIT_SECONDS_MAX = 20
/** Five years: what `delay_seconds`, `deliver_at` and `expires_at` may say. */
export const DELAY_SECONDS_MAX = 157_766_400

/** An id names at most as many items as a pop hands out. */
export const IDS_MAX = ITEMS_PER_POP_MAX

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
