import { isDone, itemsIn } from '../../../../engine/core/record.ts'
import { locksNamedBy } from '../actors/callers/command.ts'
import type { Answer, Asked, Refusal } from './model.ts'
import type { Put } from './snapshot.ts'

export type LockModel = {
  readonly lockId: string
  readonly keyHash: string | undefined
  readonly signs: string | undefined
  changedAtCommit: number
  expiresAtMs: number
  /** All that it ever had, and the latest of them. */
  readonly expiries: Set<number>
  longestMs: number
  endedAtCommit?: number
  acknowledged: boolean
  /** What the first acknowledge of the whole lock answered. */
  answered?: number
}

/** Keeps what became of every lock, so that answers about locks can be judged. */
export function noteLocks({ model, queueModel, operation, before, after }: Put): void {
  if (before?.stored.K === after.stored.K) return
  for (const [lockId, lock] of after.record.locks) {
    const known = queueModel.locks.get(lockId)
    const old = before?.record.locks.get(lockId)
    if (known === undefined) {
      const { keyHash, signs, expiresAtMs } = lock
      const times = { expiresAtMs, longestMs: expiresAtMs, expiries: new Set([expiresAtMs]) }
      const its = { lockId, keyHash, signs, changedAtCommit: model.commits, acknowledged: false }
      queueModel.locks.set(lockId, { ...its, ...times })
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
  const { lockId, ids } = answer.command.request
  if (ids === undefined) checkSettled(answer, lockId, answer.value.itemsAcknowledged)
}

export function checkManyAcknowledged(answer: Answer<'acknowledgeMany'>): void {
  const { value: results, command, effects, say } = answer
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
      if (isAboutLock.test(result.code)) checkRefused({ ...answer, code: result.code }, lockId)
    }
  }
}

export function checkExtended(answer: Answer<'extend'>): void {
  const { operation, command, effects, queueModel, say } = answer
  const { expiresAtMs } = answer.value
  const { lockId, ttlSeconds } = command.request
  const { clockMinMs, clockMaxMs } = operation
  const ttlMs = Math.min(300, Math.max(1, ttlSeconds)) * 1_000
  if (expiresAtMs < clockMinMs + ttlMs || expiresAtMs > clockMaxMs + ttlMs) {
    say('an extension is as long as asked', `${lockId} until ${expiresAtMs}`)
  }
  // Two in the same millisecond ask for the same, and one write does it for both.
  const lock = queueModel.locks.get(lockId)
  if (!effects.extended.has(lockId) && !lock?.expiries.has(expiresAtMs)) {
    say('a success has its effect', `lock ${lockId} was not extended`)
  }
}

function checkSettled(answer: Asked, lockId: string, answered: number): void {
  checkSettledCount(answer, lockId, answered)
  const lock = answer.queueModel.locks.get(lockId)
  if (lock === undefined) return
  if (lock.answered !== undefined && lock.answered !== answered) {
    answer.say('a repeated acknowledge gets the first answer', `${lock.answered}, then ${answered}`)
  }
  lock.answered = answered
}

/** All of a lock was acknowledged, by this call or by one before. */
export function checkSettledCount(answer: Asked, lockId: string, answered: number): void {
  const { effects, queueModel, say } = answer
  const settled = effects.settledByLock.get(lockId)
  if (settled === undefined && !queueModel.locks.get(lockId)?.acknowledged) {
    say('a success has its effect', `lock ${lockId} was not acknowledged`)
  } else if (settled !== undefined && settled !== answered) {
    say('an acknowledge counts exactly', `${answered}, in truth ${settled}`)
  }
}

/** A repeat answers what the first did; the first answers what it has done. */
export function checkCount(done: number | undefined, answered: number, say: Asked['say']): void {
  if (done !== undefined && done !== answered) {
    say('a success counts exactly', `answered ${answered}, in truth ${done}`)
  }
}

const isAboutLock = /^(LOCK_NOT_FOUND|LOCK_EXPIRED|INVALID_LOCK_ID)$/

export function checkLockRefusal(refusal: Refusal): void {
  const { command } = refusal
  if (command.verb === 'acknowledgeMany') return
  const [lockId] = locksNamedBy(command)
  if (lockId !== undefined) checkRefused(refusal, lockId)
}

/** No call may refuse a lock that was live all the time by every clock involved. */
function checkRefused(refusal: Refusal, lockId: string): void {
  const { operation, command, queueModel, code, say } = refusal
  const { locks, current } = queueModel
  const lock = locks.get(lockId)
  if (lock === undefined) return
  if (lock.endedAtCommit !== undefined) {
    const remembered = current?.record.ended.some(
      (past) => past.lockId === lockId && past.ending === 'acknowledged',
    )
    const repeats = /^(acknowledge|acknowledgeMany|pop)$/.test(command.verb)
    if (remembered && repeats && lock.endedAtCommit <= operation.startedAtCommit) {
      say('a repeated acknowledge gets the first answer', `${code} for ${lockId}`)
    }
  } else if (
    lock.changedAtCommit <= operation.startedAtCommit &&
    lock.expiresAtMs > operation.clockMaxMs
  ) {
    say('a live lock is never refused', `${code} for ${lockId} until ${lock.expiresAtMs}`)
  }
}
