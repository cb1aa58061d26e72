// Which queues a worker of many looks at, how it looks at them, and how its work ends: the options, the list of queues
// and the stop.

import {
  ID_RULE,
  ITEMS_PER_POP_MAX,
  isDeadLetterQueue,
  isQueueId,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  MAX_DELIVERIES_MAX,
  QUEUES_PER_PAGE_MAX,
} from '../bounds.ts'
import { unlessOver } from '../hold-lock.ts'
import { type AgainOptions, mayPass, retryOf } from './retries.ts'
import { GivenUp, type Handler, type ManyTrouble, type Settings } from './run.ts'

/** Either all queues with a prefix, including later ones but not dead-letter queues; or exactly these queues. */
export type Which = { readonly prefix: string } | { readonly queues: readonly string[] }

export type ManyOptions = {
  /** How many queues to work at once: 1–1,000. Default 10. */
  readonly queuesAtOnce?: number | undefined
  /** The most items of a queue that the handler gets at once: 1–100. Default 1. */
  readonly batchSize?: number | undefined
  /** How long a lock lives if this process dies: 5–300. We extend it while the handler works. Default 30. */
  readonly lockTtlSeconds?: number | undefined
  /** Dead-letter an item after this many failures. Default: the queue's own `max_deliveries`. */
  readonly maxDeliveries?: number | undefined
  /** When failed items come again. Default: after 1, 2, 4 … seconds, up to five minutes. */
  readonly retry?: AgainOptions | undefined
  /** Share queues with other consumers. Default: one consumer at a time works a queue, in order. */
  readonly competing?: boolean | undefined
  /** Stops the work: takes nothing more, lets handlers finish, gives back the rest. */
  readonly signal?: AbortSignal | undefined
  /** How long handlers may go on after that. Default: as long as they like. */
  readonly graceMs?: number | undefined
  /** While all are idle: the longest pause before a new round of looks, from 500. Default 500. */
  readonly idleMsMax?: number | undefined
}

export type ConsumeManyOptions = ManyOptions & {
  /** Called for every failure; none of them ends the work. Default: writes a line to the console. */
  readonly onError?: ((failure: ManyTrouble) => void) | undefined
}

export type ManySettings = Settings & {
  readonly queuesAtOnce: number
  readonly idleMsMax: number
}

/**
 * We extend a lock when two fifths of its life are over. If it lives five seconds, three are left then: more than
 * a process has left when it stops extending, so no other consumer gets the items while the handler works.
 */
export const HELD_TTL_SECONDS_MIN = 5

const QUEUES_AT_ONCE_MAX = 1_000
/** Two looks a second, however many queues there are. */
export const LOOK_EVERY_MS = 500
const IDLE_MS_MAX = 60_000
/** A round looks at each of them once: 5 s if ids have up to 49 characters, 12 s with the longest. */
const NAMED_QUEUES_MAX = 1_000

export function manySettingsOf(options: ManyOptions): ManySettings {
  const { queuesAtOnce = 10, batchSize = 1, lockTtlSeconds = LOCK_TTL_SECONDS_DEFAULT } = options
  const { maxDeliveries, competing = false, idleMsMax = LOOK_EVERY_MS } = options
  return {
    queuesAtOnce: within('queuesAtOnce', queuesAtOnce, 1, QUEUES_AT_ONCE_MAX),
    batchSize: within('batchSize', batchSize, 1, ITEMS_PER_POP_MAX),
    lockTtlSeconds: within(
      'lockTtlSeconds',
      lockTtlSeconds,
      HELD_TTL_SECONDS_MIN,
      LOCK_TTL_SECONDS_MAX,
    ),
    deliveriesMax:
      maxDeliveries === undefined
        ? Number.POSITIVE_INFINITY
        : within('maxDeliveries', maxDeliveries, 1, MAX_DELIVERIES_MAX),
    retry: retryOf(options.retry),
    idleMsMax: within('idleMsMax', idleMsMax, LOOK_EVERY_MS, IDLE_MS_MAX),
    locks: 1,
    competing,
  }
}

export function within(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && min <= value && value <= max) return value
  throw new TypeError(
    `The consumer's ${name} must be an integer from ${min} to ${max}, and is ${value}`,
  )
}

export function checkWhich(which: Which): void {
  const { prefix, queues } = (which ?? {}) as {
    readonly prefix?: unknown
    readonly queues?: unknown
  }
  if (prefix !== undefined && queues === undefined) {
    if (typeof prefix === 'string') return
    throw new TypeError(`prefix must be the beginning of queue ids, and is ${prefix}`)
  }
  if (!Array.isArray(queues) || prefix !== undefined) {
    throw new TypeError('The first argument says which queues: { prefix } or { queues: [id, …] }')
  }
  if (queues.length === 0 || queues.length > NAMED_QUEUES_MAX) {
    throw new TypeError(`queues must be 1 to ${NAMED_QUEUES_MAX} queue ids`)
  }
  const wrong = queues.find((id) => !isQueueId(id))
  if (wrong !== undefined || queues.includes(undefined)) {
    throw new TypeError(`A queue id must be ${ID_RULE}; one of these is ${JSON.stringify(wrong)}`)
  }
}

/** A queue as the list shows it. If the count is missing, its record could not be read just now. */
export type Standing = {
  readonly queue: string
  readonly count?: number | undefined
  readonly lockedCount?: number | undefined
  readonly waitingCount?: number | undefined
  /** Waiting items hold back the others of an exclusive queue. */
  readonly isBlocked?: boolean | undefined
}

type PageRequest = {
  readonly prefix?: string
  readonly ids?: readonly string[]
  readonly limit?: number
  readonly cursor?: string | undefined
}

/** A page of the list of queues. */
export type List = (request: PageRequest) => Promise<{
  readonly queues: readonly Standing[]
  readonly cursor?: string | undefined
}>

export type Look = {
  readonly standings: readonly Standing[]
  /** All queues have been looked at: the next look begins again. */
  readonly endsRound: boolean
}

/** Looks at some of the queues each time, round and round: a page of the list, or a part of the names. */
export function lookerOf(list: List, which: Which): () => Promise<Look> {
  if ('queues' in which) {
    const parts = partsOf(which.queues)
    let next = 0
    return async () => {
      const ids = parts[next] as string[]
      next = (next + 1) % parts.length
      return { standings: (await list({ ids })).queues, endsRound: next === 0 }
    }
  }
  return walkList(list, which.prefix)
}

/** A gateway takes a request line of some 10 KB, and a signature makes the request longer. */
const NAMES_BYTES_MAX = 5_000

function partsOf(queues: readonly string[]): string[][] {
  const parts: string[][] = []
  let bytes = 0
  for (const id of new Set(queues)) {
    const last = parts.at(-1)
    bytes += id.length + 1
    if (last === undefined || bytes > NAMES_BYTES_MAX || last.length === QUEUES_PER_PAGE_MAX) {
      parts.push([id])
      bytes = id.length + 1
    } else last.push(id)
  }
  return parts
}

/** From 100 queues down to one takes four steps; each page that succeeds doubles the size again. */
const SMALLER = 4

/** The last three are for one queue alone: if they fail too, the service is in trouble, and the walk begins again. */
const TRIES_MAX = 8

/**
 * Looks at the queues with a prefix page by page, round and round. If a page fails, we ask for it again, and then for
 * smaller ones, down to one queue: if its record cannot be read, the list has that queue without a count. So a page
 * that always fails hides only the queue that is to blame. The only state is a place in the list.
 */
function walkList(list: List, prefix: string): () => Promise<Look> {
  let cursor: string | undefined
  let limit = QUEUES_PER_PAGE_MAX
  let failures = 0
  let failure: unknown
  const beginAgain = (): void => {
    cursor = undefined
    failures = 0
  }
  const nextPage = async (): ReturnType<List> => {
    try {
      return await list({ prefix, limit, cursor })
    } catch (error) {
      failure = error
      failures += 1
      // The same page next time: most of what fails works when it is repeated.
      if (failures > 1) limit = Math.ceil(limit / SMALLER)
      if (failures === TRIES_MAX) beginAgain()
      throw error
    }
  }
  return async () => {
    const isFirst = cursor === undefined
    try {
      const page = await nextPage()
      cursor = page.cursor
      const isToBlame = failures > 0 && page.queues.every(({ count }) => count === undefined)
      // We skip the queue, and somebody should know.
      if (isToBlame && page.queues.length > 0) throw failure
      failures = 0
      limit = Math.min(QUEUES_PER_PAGE_MAX, 2 * limit)
      const standings = page.queues.filter(({ queue }) => !isDeadLetterQueue(queue))
      return { standings, endsRound: cursor === undefined }
    } catch (error) {
      if (isFirst || mayPass(error)) throw error
      // The service may be refusing the cursor. The first page will show.
      beginAgain()
      return { standings: [], endsRound: true }
    }
  }
}

export type Stop = {
  /** Take nothing more. */
  readonly stop: AbortSignal
  /** Do not wait for handlers any more. */
  readonly graceOver: AbortSignal
}

/** How the work ends: by the caller's signal, or because it failed. */
export type Stopping = Stop & {
  halt(): void
  /** Halts, and remembers the first error. */
  fail(error: unknown): void
  /** The caller's listener. If it throws, the work fails. */
  telling<T>(onError: (trouble: T) => void): (trouble: T) => void
  /** Everything is settled: nothing listens any more. Throws if the work has failed. */
  over(): void
}

export function untilGrace(signal: AbortSignal | undefined, graceMs: number | undefined): Stopping {
  const stop = new AbortController()
  const graceOver = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const halt = () => {
    stop.abort()
    if (graceMs !== undefined) timer ??= setTimeout(() => graceOver.abort(), graceMs)
  }
  let failure: { readonly error: unknown } | undefined
  const fail = (error: unknown) => {
    failure ??= { error }
    halt()
  }
  signal?.addEventListener('abort', halt)
  if (signal?.aborted) halt()
  return {
    stop: stop.signal,
    graceOver: graceOver.signal,
    halt,
    fail,
    telling: (onError) => (trouble) => {
      try {
        onError(trouble)
      } catch (error) {
        fail(error)
      }
    },
    over() {
      signal?.removeEventListener('abort', halt)
      clearTimeout(timer)
      if (failure !== undefined) throw failure.error
    },
  }
}

/** Does not begin items that come while the work stops, and does not wait for a handler that outlasts the grace. */
export const unlessStopped =
  (handler: Handler, { stop, graceOver }: Stop): Handler =>
  async (items, context) => {
    if (stop.aborted) throw new GivenUp()
    return unlessOver((async () => handler(items, context))(), graceOver, new GivenUp())
  }
