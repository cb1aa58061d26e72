import { type HeldLock, holdLock } from '../../foundation/shared/hold-lock.ts'
import type { Edge } from './edge.ts'
import { isLockLost } from './refusal.ts'

/** `sinceMs` is when we asked for the lock: its life began no earlier. */
export const heldLock = (
  { queues, clock, report, late }: Edge,
  queue: string,
  id: string,
  { ttlSeconds, sinceMs }: { readonly ttlSeconds: number; readonly sinceMs: number },
): HeldLock =>
  holdLock(id, {
    ttlSeconds,
    sinceMs,
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    extend: () => queues.extend(queue, { lockId: id, ttlSeconds }),
    late,
    onTrouble: (error) => report({ kind: 'request', what: 'extend', error }),
    isLost: isLockLost,
  })
