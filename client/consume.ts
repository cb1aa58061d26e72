// Works queues over HTTP, one or many, with the worker of every consumer (`shared/worker/`). That gets its verbs and
// its clock here. For a single queue, this file also decides how many workers there are, and when they look again:
//
//   looking ──items──▶ at work, and one more worker looks, up to `concurrency`
//     ▲                   └──nothing left──▶ gone, if another worker looks already
//     └──────a pause────────────────────┴──▶ otherwise it looks for all, less and less often
//
// A stop ends every pause between pops at once; a worker still waits for an answer that is on its way, and gives its
// items back. If the answer to its last pop was lost, it asks once more for the lock that it may have got.

import { LOCK_TTL_SECONDS_DEFAULT } from '../shared/bounds.ts'
import { checkOptions, type Names } from '../shared/options.ts'
import { consumeManyWith } from '../shared/worker/many.ts'
import {
  inShort,
  refusalIn,
  retryOf,
  TROUBLES_MAX,
  troublePauseMs,
} from '../shared/worker/retries.ts'
import {
  type Handler as CoreHandler,
  checkHandler,
  noCounts,
  type Popped,
  type Run,
  type Settings,
  type Trouble,
  type Verbs,
} from '../shared/worker/run.ts'
import {
  type ConsumeManyOptions,
  type List,
  type Stopping,
  unlessStopped,
  untilGrace,
  type Which,
} from '../shared/worker/which-queues.ts'
import { work } from '../shared/worker/worker.ts'
import type { ListAnswer } from './api-types.ts'
import { isQueueLocked, type PushPopError } from './errors.ts'
import type { Consumed, ConsumeFailure, ConsumeOptions, Handler, Queue } from './queue.ts'
import { newKey, queueCalls } from './queue-calls.ts'
import { delay, noAnswerIn, type Send } from './transport.ts'
import type { Item } from './views.ts'

const names: Names<ConsumeOptions> = {
  concurrency: 0,
  batchSize: 0,
  lockTtlSeconds: 0,
  retry: 0,
  competing: 0,
  graceMs: 0,
  idleMsMax: 0,
  onError: 0,
  signal: 0,
}

/** The longest time that an item waits for a consumer that has found the queue empty for a while. */
const IDLE_MS_MAX = 5_000
const IDLE_FIRST_MS = 100

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
  checkOptions(options, names)
  const { concurrency = 1, signal, graceMs, retry } = options
  const { competing = concurrency > 1, onError = toConsole, idleMsMax = IDLE_MS_MAX } = options
  check(concurrency, competing)
  const settings: Settings = {
    batchSize: options.batchSize ?? 1,
    lockTtlSeconds: options.lockTtlSeconds ?? LOCK_TTL_SECONDS_DEFAULT,
    deliveriesMax: Number.POSITIVE_INFINITY,
    retry: retry === undefined ? undefined : retryOf(retry),
    locks: concurrency,
    competing,
    oneByOne: true,
  }
  const stopping = untilGrace(signal, graceMs)
  const counts = noCounts()
  await workOne({
    queue: queue as Queue<never>,
    handler: unlessStopped(singly(handler as Handler<unknown>), stopping),
    settings,
    counts,
    idleMsMax,
    stopping,
    tell: stopping.telling(onError as (failure: ConsumeFailure) => void),
  })
  stopping.over()
  const { batches: _, ...consumed } = counts
  return consumed
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

function toConsole(failure: ConsumeFailure): void {
  console.error(`PushPop: ${sentences[failure.kind]}:`, inShort(failure.kind, failure.error))
}

const sentences: Readonly<Record<ConsumeFailure['kind'], string>> = {
  handler: 'a handler failed, and its item goes back to the queue unless it was dead-lettered',
  'lock-lost': 'a lock ended before its items were settled, and they are delivered again',
  request: 'a request failed and is tried again',
}

/** As the worker calls it. What a handler of single items returns means nothing. */
const singly =
  (handler: Handler<unknown>): CoreHandler =>
  async (items, { signal, lock, deadLetter }) => {
    for (const item of items) {
      await handler(item, { signal, lockId: lock.id, deadLetter: (it) => deadLetter(item, it) })
    }
  }

/** A worker's trouble in the words of `onError`, which knows of no late handlers. */
function tellTrouble(trouble: Trouble, { tell, settings }: Work): void {
  const { kind } = trouble
  if (kind === 'handler') {
    for (const item of trouble.items) tell({ kind, item, error: trouble.error })
  } else if (kind === 'request') {
    tell({ kind, error: trouble.error as PushPopError })
  } else if (kind === 'lock-lost') {
    tell({ kind, items: trouble.items, error: trouble.error as PushPopError })
  } else if (kind === 'answer-late') {
    const error = noAnswerIn(settings.lockTtlSeconds * 1_000)
    tell({ kind: 'lock-lost', items: trouble.items, error })
  }
}

type Work = Pick<Run, 'handler' | 'counts'> & {
  readonly queue: Queue<never>
  readonly settings: Settings
  readonly idleMsMax: number
  readonly stopping: Stopping
  tell(failure: ConsumeFailure): void
}

/** Resolves when all workers have ended. Those that failed have told `stopping`. */
async function workOne(order: Work): Promise<void> {
  const { settings, idleMsMax, stopping } = order
  const { stop, fail } = stopping
  const working = new Set<Promise<void>>()
  /** The worker that looks at the empty queue; the others have gone, and it starts them again. */
  let scout: object | undefined
  let emptyLooks = 0

  function start(): void {
    if (stop.aborted || working.size === settings.locks) return
    const worker = untilNothing()
      .catch(fail)
      .finally(() => working.delete(worker))
    working.add(worker)
  }
  async function untilNothing(): Promise<void> {
    const me = {}
    const turns = turnsOf(order, () => {
      if (scout === me) scout = undefined
      emptyLooks = 0
      start()
    })
    while (!stop.aborted) {
      const pauseMs = await turns()
      if (pauseMs === undefined) {
        if (scout !== undefined && scout !== me) return
        scout = me
        emptyLooks += 1
      }
      await delay(pauseMs ?? idlePauseMs(emptyLooks, idleMsMax), stop)
    }
  }
  start()
  while (working.size > 0) await Promise.all(working)
}

/** Doubles up to a bound, minus up to half at random, so that many consumers do not come at once. */
export function idlePauseMs(emptyLooks: number, idleMsMax: number, random = Math.random): number {
  const bound = Math.min(idleMsMax, IDLE_FIRST_MS * 2 ** (emptyLooks - 1))
  return bound * (0.5 + random() / 2)
}

/**
 * Each turn works the queue until there is nothing left, and resolves with the pause before the next if the worker
 * knows that. It rejects if another try would not help.
 */
function turnsOf(order: Work, foundItems: () => void): () => Promise<number | undefined> {
  const { queue, settings, handler, counts, stopping, tell } = order
  const { stop, graceOver } = stopping
  const verbs = verbsOf(() => queue, stop)
  let pauseMs: number | undefined
  let lockId = ''
  let refusal: unknown
  let isLast = false
  const run: Run = {
    queue: queue.id,
    settings,
    handler,
    counts,
    edge: {
      ...ports,
      queues: {
        ...verbs,
        async pop(id, request) {
          const popped = await verbs.pop(id, request).catch((error) => {
            refusal = error
            throw error
          })
          if (popped.kind === 'items' && popped.lock !== undefined) {
            lockId = popped.lock.id
            foundItems()
          }
          return popped
        },
      },
      report: (trouble) => tellTrouble(trouble, order),
    },
    hurry: stop,
    timeOver: graceOver,
    troublesMax: Number.POSITIVE_INFINITY,
    longestMs: 0,
    remainingMs: () => Number.POSITIVE_INFINITY,
    mayTakeMore(inDoubt) {
      if (!stop.aborted) return true
      const asksOnceMore = inDoubt && !isLast
      isLast = true
      return asksOnceMore
    },
    foundPlenty() {},
    comeBack(afterMs) {
      pauseMs = afterMs
    },
  }
  return async () => {
    pauseMs = undefined
    try {
      await work(run, false)
    } catch (error) {
      if (error === refusal || refusalIn(error) === undefined) throw error
      // What cannot be settled goes back, in case that works, and the others go on.
      tell({ kind: 'request', error: error as PushPopError })
      await queue.release(lockId).catch(() => {})
      pauseMs = troublePauseMs(TROUBLES_MAX, Math.random)
    }
    return pauseMs
  }
}

/** Does the work for a batch. If it returns, the items are acknowledged; if it throws, all of them come again. */
export type BatchHandler<T> = (
  items: readonly Item<T>[],
  context: BatchContext,
) => BatchResult | Promise<BatchResult>

/** Nothing, or the ids of items that should come again; all others are done. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is the usual one.
export type BatchResult = void | undefined | { readonly failed: readonly string[] }

export type BatchContext = {
  readonly queue: string
  readonly lock: { readonly id: string }
  /** Aborted when the lock is lost or the grace of a stop is over. */
  readonly signal: AbortSignal
  /** Once the handler returns or throws, the item goes to the dead-letter queue. */
  deadLetter(item: Item<unknown> | string, reason: string): void
  /** Once the handler returns or throws, the item goes back to the queue. */
  release(item: Item<unknown> | string): void
}

/** `send` sends a call once: the work itself decides when to try again. */
export const consumeMany = <T>(
  send: Send,
  which: Which,
  handler: BatchHandler<T>,
  options: ConsumeManyOptions = {},
): Promise<Consumed> =>
  consumeManyWith(
    { ...ports, queues: verbsOf((queue) => queueCalls(send, queue)), list: listOf(send) },
    which,
    handler as CoreHandler,
    options,
  )

const ports = {
  clock: { nowMs: () => performance.now(), sleep: delay },
  random: () => Math.random(),
  newKey,
  late: (ms: number) => noAnswerIn(ms, 'unknown'),
}

type Called = Pick<
  Queue<never>,
  'peek' | 'pop' | 'acknowledge' | 'extend' | 'release' | 'deadLetter'
>

/** The verbs in the form that a worker needs: with the queue's id, and "locked" as an answer. */
const verbsOf = (of: (queue: string) => Called, hurry?: AbortSignal): Verbs => ({
  browse: (queue, { limit }) => of(queue).peek({ limit }),
  async pop(queue, request): Promise<Popped> {
    try {
      const { items, lock, more } = await of(queue).pop({ ...request, hurry })
      if (lock !== undefined) return { kind: 'items', items, lock, more }
      return more ? { kind: 'empty', more } : { kind: 'empty' }
    } catch (error) {
      if (isQueueLocked(error)) return { kind: 'locked' }
      throw error
    }
  },
  acknowledge: (queue, { lockId, ...some }) => of(queue).acknowledge(lockId, some),
  extend: (queue, { lockId, ttlSeconds }, signal) =>
    of(queue).extend(lockId, ttlSeconds, { signal }),
  release: (queue, { lockId, ...some }) => of(queue).release(lockId, some),
  deadLetter: (queue, { lockId, ...some }) => of(queue).deadLetter(lockId, some),
})

const listOf =
  (send: Send): List =>
  async ({ ids, ...request }) => {
    const query = { ...request, ids: ids?.join(','), detail: true }
    const { body } = await send({ verb: 'list', query })
    const { queues, cursor } = body as ListAnswer
    return {
      queues: queues.map((it) => ({
        queue: it.id,
        count: it.count,
        lockedCount: it.locked_count,
        waitingCount: it.waiting_count,
        isBlocked: it.blocked_until !== undefined,
      })),
      cursor,
    }
  }
