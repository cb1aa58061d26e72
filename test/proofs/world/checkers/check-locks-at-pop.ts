import { intersect, none, type Ranges } from '../../../../lambdas/engine/core/ranges.ts'
import { isDone } from '../../../../lambdas/engine/core/record.ts'
import { isOvertaken } from '../../../../lambdas/engine/core/retry.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Write } from './snapshot.ts'

/** Other locks bind a pop; its own lock lives as long as the caller asked. */
export function checkLocksAtPop(
  { model, queue, before, after }: Write,
  operation: Operation<CommandOf<'pop'>>,
  lockId: string | undefined,
  takes: ReadonlyMap<number, Ranges>,
): void {
  const { request } = operation.command
  const worst = Math.max(...takes.keys())
  for (const [otherId, lock] of before.record.locks) {
    const kept = after.record.locks.get(otherId)
    if (kept === undefined || isDone(kept) || otherId === lockId) continue
    if (!request.competing && !isOvertaken(otherId)) {
      model.violated(
        'an exclusive pop waits for a live lock',
        `${queue}: lock ${otherId} until ${lock.expiresAtMs} is still there`,
      )
    }
    // Expired by every clock the pop has read: its items were visible, and were passed over. An
    // extension by another clock may have shortened it after the pop had looked.
    if (lock.expiresAtMs > operation.clockMinMs) continue
    const known = model.queue(queue).locks.get(otherId)
    if (known === undefined || known.changedAtCommit > operation.startedAtCommit) continue
    for (const { priority, from } of lock.stretches) {
      const taken = takes.get(priority) ?? none
      const reached = priority < worst || (taken.at(-1)?.to ?? 0) > from
      const view = before.view(priority)
      const unsettled = intersect(view?.locked.get(otherId) ?? none, [{ from, to: from + 1 }])
      if (reached && unsettled.length > 0) {
        model.violated(
          'returned items come first',
          `${queue}: lock ${otherId} had expired at ${lock.expiresAtMs}, clock read ${operation.clockMinMs}`,
        )
      }
    }
  }
  if (lockId === undefined) return
  const lock = after.record.locks.get(lockId)
  const ttlMs = Math.min(300, Math.max(1, request.ttlSeconds ?? 30)) * 1_000
  const { clockMinMs, clockMaxMs } = operation
  const expiresAtMs = lock?.expiresAtMs ?? 0
  if (expiresAtMs < clockMinMs + ttlMs || expiresAtMs > clockMaxMs + ttlMs) {
    model.violated('a lock lives as long as asked', `${lockId} until ${expiresAtMs}`)
  }
}
