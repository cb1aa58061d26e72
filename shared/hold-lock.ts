// Keeps a lock alive while a consumer works on its items, until the consumer lets go or the service says that the
// lock is over. Either may come while an extension is under way. We then no longer wait for its answer, and it may
// still land: a settled lock stays ended, and one that was left to end by itself ends a little later. The client
// bundles this file too, so it imports nothing.

/** We extend a lock before half its life is over: if that is slow or lost, there is time for two more tries. */
const EXTEND_AFTER = 0.4
/** How long one extension may take, and the pause after one that failed, as parts of the lock's life. */
const TRY_FOR = 0.2
const TRY_AGAIN_AFTER = 0.05

type Keeping = {
  readonly ttlSeconds: number
  /** When the caller asked for the lock, by the clock below: its life began no earlier. */
  readonly sinceMs: number
  /** Our clock; the service's need not agree with it. */
  nowMs(): number
  /** Ends early when the signal comes, and never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** We stop waiting when the signal comes: by then the answer is too late, or nobody needs it any more. */
  extend(signal: AbortSignal): Promise<unknown>
  /** The error of an extension that has no answer after so long. */
  late(ms: number): Error
  /** One extension failed; the next one follows soon. */
  onTrouble(error: unknown): void
  /** Whether this error says that the lock is over. */
  isLost(error: unknown): boolean
}

export type HeldLock = {
  readonly id: string
  /** Aborted when the service says that the lock is over; the reason is its error. */
  readonly lost: AbortSignal
  /** The lock is settled, or may end by itself. An extension that is under way may still land. */
  letGo(): void
}

export function holdLock(id: string, keeping: Keeping): HeldLock {
  const lost = new AbortController()
  const done = new AbortController()
  void keep(keeping, lost, done.signal)
  return { id, lost: lost.signal, letGo: () => done.abort() }
}

async function keep(keeping: Keeping, lost: AbortController, done: AbortSignal): Promise<void> {
  const { ttlSeconds, sinceMs, nowMs, sleep, onTrouble, isLost } = keeping
  const lifeMs = ttlSeconds * 1000
  let dueMs = sinceMs + lifeMs * EXTEND_AFTER
  for (;;) {
    await sleep(Math.max(0, dueMs - nowMs()), done)
    if (done.aborted) return
    const sentMs = nowMs()
    try {
      await extendWithin(keeping, lifeMs * TRY_FOR, done)
      dueMs = sentMs + lifeMs * EXTEND_AFTER
    } catch (error) {
      if (done.aborted) return
      if (isLost(error)) return lost.abort(error)
      onTrouble(error)
      dueMs = nowMs() + lifeMs * TRY_AGAIN_AFTER
    }
  }
}

async function extendWithin(
  { sleep, extend, late }: Keeping,
  ms: number,
  done: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const end = () => over.abort()
  done.addEventListener('abort', end)
  void sleep(ms, over.signal).then(() => {
    if (!over.signal.aborted) over.abort(late(ms))
  })
  try {
    await unlessOver(extend(over.signal), over.signal)
  } finally {
    done.removeEventListener('abort', end)
    end()
  }
}

/** Stops waiting at the signal and throws its reason, or the one given. The work itself goes on, and may still land. */
export async function unlessOver<T>(
  work: Promise<T>,
  signal: AbortSignal,
  reason?: Error,
): Promise<T> {
  let end = () => {}
  const over = new Promise<never>((_, reject) => {
    end = () => reject(reason ?? signal.reason)
    signal.addEventListener('abort', end)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** With these codes the service says that a lock is over: its items are back in the queue, or settled. */
export const lostLockCodes = ['LOCK_EXPIRED', 'LOCK_NOT_FOUND', 'INVALID_LOCK_ID'] as const
export type LostLockCode = (typeof lostLockCodes)[number]
