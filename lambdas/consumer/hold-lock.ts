import { QueueError } from '../foundation/errors.ts'
import {
  type HeldLock,
  holdLock,
  lostLockCodes,
  unlessOver,
} from '../foundation/shared/hold-lock.ts'
import { describeError } from '../runtime/log.ts'
import type { Edge } from './edge.ts'

/** `sinceMs` is when the lock was asked for: its life began no earlier. */
export const heldLock = (
  { queues, clock, log }: Edge,
  queue: string,
  id: string,
  { ttlSeconds, sinceMs }: { readonly ttlSeconds: number; readonly sinceMs: number },
): HeldLock =>
  holdLock(id, {
    ttlSeconds,
    sinceMs,
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    extend: (signal) => unlessOver(queues.extend(queue, { lockId: id, ttlSeconds }), signal),
    onTrouble: (error) =>
      log.write('warn', 'lock not extended yet', { queue, error: describeError(error) }),
    isLost: isLockLost,
  })

/** The lock is over: its items belong to the queue again, or are settled. */
export const isLockLost = (error: unknown): boolean =>
  error instanceof QueueError && lostLockCodes.some((code) => code === error.code)
