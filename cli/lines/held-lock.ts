import type { Target } from '../target/target.ts'

/**
 * Long enough to write a batch to any disk, and as short as somebody else should wait if this
 * process is killed.
 */
export const TTL_SECONDS = 60

/** Extended this often while work goes on: twice before it would end. */
const EXTEND_EVERY_MS = (TTL_SECONDS / 3) * 1000

/** Keeps a lock alive while `work` goes on: who reads our output may be slow. */
export async function holding<T>(
  target: Target,
  queue: string,
  lockId: string,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setInterval(() => {
    // If the lock has ended all the same, the acknowledgement says so, to somebody who listens.
    target.extend(queue, { lockId, ttlSeconds: TTL_SECONDS }).catch(() => {})
  }, EXTEND_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
