import { isDone, itemsIn, type Lock } from '../../../../lambdas/engine/core/record.ts'
import { locksNamedBy } from '../actors/callers/command.ts'
import type { Answer, Refusal, Say } from './model.ts'
import type { Put } from './snapshot.ts'

export class LockModel {
  readonly lockId: string
  readonly keyHash: string | undefined
  changedAtCommit: number
  expiresAtMs: number
  /** The latest expiry it ever had. */
  longestMs: number
  /** All that it ever had. */
  readonly expiries = new Set<number>()
  endedAtCommit: number | undefined
  acknowledged = false
  /** What the first acknowledge of the whole lock answered. */
  answered: number | undefined

  constructor(lockId: string, { keyHash, expiresAtMs }: Lock, commit: number) {
    this.lockId = lockId
    this.keyHash = keyHash
    this.changedAtCommit = commit
    this.expiresAtMs = this.longestMs = expiresAtMs
    this.expiries.add(expiresAtMs)
  }
}

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

export function checkAcknowledged(answer: Answer<'acknowledge'>): void {
  const { lockId, ids } = answer.operation.command.request
  checkSettled(answer, lockId, answer.value.itemsAcknowledged, ids)
}

export function checkManyAcknowledged(answer: Answer<'acknowledgeMany'>): void {
  const { model, operation, value: results, say } = answer
  const { command, effects } = operation
  if (results.map(({ lockId }) => lockId).join() !== command.request.join()) {
    say('each lock has its result', `${results.length} results`)
  }
  for (const result of results) {
    const { lockId } = result
    if (result.kind === 'acknowledged') {
      checkSettled(answer, lockId, result.itemsAcknowledged)
    } else if (result.code !== 'STORE_UNAVAILABLE') {
      if (effects.settledByLock.has(lockId)) {
        say('a definite error changed nothing', `lock ${lockId} was settled`)
      }
      checkRefused({ model, operation, say, code: result.code }, lockId)
    }
  }
}

export function checkExtended({ model, operation, value, say }: Answer<'extend'>): void {
  const { command, effects, clockMinMs, clockMaxMs } = operation
  const { lockId, ttlSeconds } = command.request
  const { expiresAtMs } = value
  const ttlMs = Math.min(300, Math.max(1, ttlSeconds)) * 1_000
  if (expiresAtMs < clockMinMs + ttlMs || expiresAtMs > clockMaxMs + ttlMs) {
    say('an extension is as long as asked', `${lockId} until ${expiresAtMs}`)
  }
  // Two in the same millisecond ask for the same, and one write does it for both.
  const lock = model.queue(command.queue).locks.get(lockId)
  if (!effects.extended.has(lockId) && !lock?.expiries.has(expiresAtMs)) {
    say('a success has its effect', `lock ${lockId} was not extended`)
  }
}

function checkSettled(
  { model, operation, say }: Answer<'acknowledge' | 'acknowledgeMany'>,
  lockId: string,
  answered: number,
  ids?: readonly string[],
): void {
  const settled = operation.effects.settledByLock.get(lockId)
  const lock = model.queue(operation.command.queue).locks.get(lockId)
  if (settled !== undefined) {
    if (settled !== answered && ids === undefined) {
      say('an acknowledge counts exactly', `${answered}, in truth ${settled}`)
    }
  } else if (ids === undefined && !lock?.acknowledged) {
    say('a success has its effect', `lock ${lockId} was not acknowledged`)
  }
  if (lock === undefined || ids !== undefined) return
  if (lock.answered !== undefined && lock.answered !== answered) {
    say('a repeated acknowledge gets the first answer', `${lock.answered}, then ${answered}`)
  }
  lock.answered = answered
}

/** A repeat answers what the first did; the first answers what it has done. */
export function checkCount(done: number | undefined, answered: number, say: Say): void {
  if (done !== undefined && done !== answered) {
    say('a success counts exactly', `answered ${answered}, in truth ${done}`)
  }
}

export function checkLockRefusal(refusal: Refusal): void {
  const { command } = refusal.operation
  if (command.verb === 'acknowledgeMany') return
  const [lockId] = locksNamedBy(command)
  if (lockId !== undefined) checkRefused(refusal, lockId)
}

/** No call may refuse a lock that was live all the time by every clock involved. */
function checkRefused({ model, operation, code, say }: Refusal, lockId: string): void {
  if (code !== 'LOCK_NOT_FOUND' && code !== 'LOCK_EXPIRED' && code !== 'INVALID_LOCK_ID') return
  const { locks, current } = model.queue(operation.command.queue)
  const lock = locks.get(lockId)
  if (lock === undefined) return
  if (lock.endedAtCommit !== undefined) {
    const remembered = current?.record.ended.some(
      (past) => past.lockId === lockId && past.ending === 'acknowledged',
    )
    const { verb } = operation.command
    const repeats = verb === 'acknowledge' || verb === 'acknowledgeMany' || verb === 'pop'
    if (remembered && repeats && lock.endedAtCommit <= operation.startedAtCommit) {
      say('a repeated acknowledge gets the first answer', `${code} for ${lockId}`)
    }
    return
  }
  if (lock.changedAtCommit > operation.startedAtCommit) return
  if (lock.expiresAtMs > operation.clockMaxMs) {
    say('a live lock is never refused', `${code} for ${lockId} until ${lock.expiresAtMs}`)
  }
}
