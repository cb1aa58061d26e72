// Works many queues over HTTP: the verbs and the list of queues, in the form that the worker of many wants.

import { consumeManyWith } from '../../shared/worker/many.ts'
import type { Handler as CoreHandler, Popped, PopWith, Verbs } from '../../shared/worker/run.ts'
import type { ConsumeManyOptions, List, Which } from '../../shared/worker/which-queues.ts'
import type { ListAnswer } from '../api-types.ts'
import { isQueueLocked } from '../errors.ts'
import type { Consumed } from '../queue.ts'
import { newKey, queueCalls } from '../queue-calls.ts'
import { delay, noAnswerIn, type Send } from '../transport.ts'
import type { Item } from '../views.ts'

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
    {
      queues: verbsOf(send),
      list: listOf(send),
      clock: { nowMs: () => performance.now(), sleep: delay },
      random: Math.random,
      newKey,
      late: (ms) => noAnswerIn(ms, 'unknown'),
    },
    which,
    handler as CoreHandler,
    options,
  )

/** The verbs in the form that a worker needs: with the queue's id, and "locked" as an answer. */
function verbsOf(send: Send): Verbs {
  const of = (queue: string) => queueCalls<unknown>(send, queue)
  return {
    browse: (queue, { limit }) => of(queue).peek({ limit }),
    async pop(queue: string, request: PopWith): Promise<Popped> {
      try {
        const { items, lock, more } = await of(queue).pop(request)
        if (lock !== undefined) return { kind: 'items', items, lock, more }
        return more ? { kind: 'empty', more } : { kind: 'empty' }
      } catch (error) {
        if (isQueueLocked(error)) return { kind: 'locked' }
        throw error
      }
    },
    acknowledge: (queue, { lockId, ...some }) => of(queue).acknowledge(lockId, some),
    extend: (queue, { lockId, ttlSeconds }) => of(queue).extend(lockId, ttlSeconds),
    release: (queue, { lockId, ...some }) => of(queue).release(lockId, some),
    deadLetter: (queue, { lockId, ...some }) => of(queue).deadLetter(lockId, some),
  }
}

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
