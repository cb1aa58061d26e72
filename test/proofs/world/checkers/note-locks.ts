import { isDone, itemsIn } from '../../../../lambdas/engine/core/record.ts'
import { LockModel } from './model.ts'
import type { Put } from './snapshot.ts'

/** Keeps what became of every lock, so that answers about locks can be judged. */
export function noteLocks({ model, queueModel, before, after }: Put): void {
  const { operation } = model
  if (before?.stored.K === after.stored.K) return
  for (const [lockId, lock] of after.record.locks) {
    const known = queueModel.locks.get(lockId)
    const old = before?.record.locks.get(lockId)
    if (known === undefined) {
      queueModel.locks.set(lockId, new LockModel(lockId, lock, model.commits))
      continue
    }
    if (old === undefined || old.expiresAtMs === lock.expiresAtMs) continue
    if (isDone(lock)) {
      known.endedAtCommit = model.commits
      known.acknowledged = true
      continue
    }
    known.changedAtCommit = model.commits
    known.expiresAtMs = lock.expiresAtMs
    known.longestMs = Math.max(known.longestMs, lock.expiresAtMs)
    known.expiries.add(lock.expiresAtMs)
    const command = operation?.command
    if (command?.verb !== 'extend' || command.request.lockId !== lockId) {
      model.violated('only an extension extends a lock', `${lockId} of ${queueModel.queue}`)
    } else {
      operation?.effects.extended.add(lockId)
      model.noteEffect(`lock ${lockId} was extended`)
    }
  }
  for (const [lockId, lock] of before?.record.locks ?? []) {
    if (after.record.locks.has(lockId)) continue
    const known = queueModel.locks.get(lockId)
    if (known === undefined) continue
    known.endedAtCommit ??= model.commits
    known.acknowledged ||= operation?.effects.settledByLock.has(lockId) ?? false
    if (isDone(lock)) model.world.statistics.count('path fold', itemsIn(lock.stretches))
  }
}
