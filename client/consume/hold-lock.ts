// Keeps a lock alive while its items are worked on.

import { delay } from '../delay.ts'
import { isLockLost, type PushPopError } from '../errors.ts'
import type { Queue } from '../queue.ts'
import type { Lock } from '../views.ts'

/** Extended before half its life is over: what is lost or slow then can be tried twice more. */
const EXTEND_AFTER = 0.4
/** Of its life, for one extension; and between two after one that failed. */
const TRY_FOR = 0.2
const TRY_AGAIN_AFTER = 0.05

export type HeldLock = {
  readonly id: string
  /** Aborted when the service says that the lock is over; the reason is its `PushPopError`. */
  readonly lost: AbortSignal
  /** It is settled, or nobody cares any more. */
  letGo(): void
}

/**
 * `sinceMs` (of `performance.now()`) is when the lock was asked for: its life began no earlier. The
 * clocks of this machine and of the service need not agree.
 */
export function holdLock<T>(
  queue: Pick<Queue<T>, 'extend'>,
  lock: Lock,
  sinceMs: number,
  onTrouble: (error: PushPopError) => void,
): HeldLock {
  const { id, ttlSeconds } = lock
  const lost = new AbortController()
  const done = new AbortController()
  const lifeMs = ttlSeconds * 1000

  async function keep(): Promise<void> {
    let dueMs = sinceMs + lifeMs * EXTEND_AFTER
    while (true) {
      await delay(Math.max(0, dueMs - performance.now()), done.signal)
      if (done.signal.aborted) return
      const sentMs = performance.now()
      try {
        await extendWithin(queue, id, ttlSeconds, lifeMs * TRY_FOR, done.signal)
        dueMs = sentMs + lifeMs * EXTEND_AFTER
      } catch (error) {
        if (done.signal.aborted) return
        if (isLockLost(error)) return lost.abort(error)
        onTrouble(error as PushPopError)
        dueMs = performance.now() + lifeMs * TRY_AGAIN_AFTER
      }
    }
  }
  void keep()
  return { id, lost: lost.signal, letGo: () => done.abort() }
}

async function extendWithin<T>(
  queue: Pick<Queue<T>, 'extend'>,
  id: string,
  ttlSeconds: number,
  ms: number,
  given: AbortSignal,
): Promise<void> {
  const late = new AbortController()
  const stop = () => late.abort(given.reason)
  const timer = setTimeout(stop, ms)
  given.addEventListener('abort', stop)
  try {
    await queue.extend(id, ttlSeconds, { signal: late.signal })
  } finally {
    clearTimeout(timer)
    given.removeEventListener('abort', stop)
  }
}
