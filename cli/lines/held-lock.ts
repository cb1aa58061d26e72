import { delay } from '../../client/transport.ts'
import { holdLock, lostLockCodes } from '../../shared/hold-lock.ts'
import { codeOf } from '../explain.ts'
import type { Target } from '../target/target.ts'

/** Long enough to write a batch to any disk; nobody should wait longer if this process is killed. */
export const TTL_SECONDS = 60

/** Keeps a lock alive while `work` goes on: the reader of our output may be slow. */
export async function holding<T>(
  target: Target,
  queue: string,
  lockId: string,
  work: () => Promise<T>,
): Promise<T> {
  const lock = holdLock(lockId, {
    ttlSeconds: TTL_SECONDS,
    sinceMs: performance.now(),
    nowMs: () => performance.now(),
    sleep: delay,
    extend: () => target.extend(queue, { lockId, ttlSeconds: TTL_SECONDS }),
    late: (ms) => new Error(`No answer came within ${ms} ms`),
    // If the lock has ended anyway, the acknowledgement fails and says so.
    onTrouble() {},
    isLost: (error) => lostLockCodes.some((code) => code === codeOf(error)),
  })
  try {
    return await work()
  } finally {
    lock.letGo()
  }
}
