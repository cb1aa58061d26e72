// Keeps a lock alive while its items are worked on.

import { QueueError } from '../foundation/errors.ts'
import { describeError } from '../runtime/log.ts'
import type { Edge } from './edge.ts'

/** Extended before half its life is over: what is lost or slow then can be tried twice more. */
const EXTEND_AFTER = 0.4
/** Of its life, for one extension; and between two after one that failed. */
const TRY_FOR = 0.2
const TRY_AGAIN_AFTER = 0.05

export type HeldLock = {
  readonly id: string
  /** Aborted when the engine says that the lock is over; the reason is its error. */
  readonly lost: AbortSignal
  /** It is settled, or is to end by itself. An extension that is under way may still land. */
  letGo(): void
}

/** `sinceMs` is when the lock was asked for: its life began no earlier. */
export function holdLock(
  edge: Edge,
  queue: string,
  id: string,
  { ttlSeconds, sinceMs }: { readonly ttlSeconds: number; readonly sinceMs: number },
): HeldLock {
  const { queues, clock, log } = edge
  const lost = new AbortController()
  const done = new AbortController()
  const lifeMs = ttlSeconds * 1000

  async function keep(): Promise<void> {
    let dueMs = sinceMs + lifeMs * EXTEND_AFTER
    for (;;) {
      await clock.sleep(Math.max(0, dueMs - clock.nowMs()), done.signal)
      if (done.signal.aborted) return
      const sentMs = clock.nowMs()
      const extension = queues.extend(queue, { lockId: id, ttlSeconds }).then(
        () => 'extended' as const,
        (error: unknown) => ({ error }),
      )
      const late = clock.sleep(lifeMs * TRY_FOR, done.signal).then(() => ({ error: 'no answer' }))
      const outcome = await Promise.race([extension, late])
      if (outcome === 'extended') {
        dueMs = sentMs + lifeMs * EXTEND_AFTER
        continue
      }
      if (done.signal.aborted) return
      const { error } = outcome
      if (isLockLost(error)) return lost.abort(error)
      log.write('warn', 'lock not extended yet', { queue, error: describeError(error) })
      dueMs = clock.nowMs() + lifeMs * TRY_AGAIN_AFTER
    }
  }
  void keep()
  return { id, lost: lost.signal, letGo: () => done.abort() }
}

const lockLost = new Set(['LOCK_EXPIRED', 'LOCK_NOT_FOUND', 'INVALID_LOCK_ID'])

/** The lock is over, whoever ended it: its items are the queue's again, or settled. */
export const isLockLost = (error: unknown): boolean =>
  error instanceof QueueError && lockLost.has(error.code)
