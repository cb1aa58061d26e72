import type { AcknowledgeResult } from '../../../../lambdas/engine/queues.ts'
import type { Command, CommandOf } from '../command.ts'
import type { Operation } from '../operation.ts'
import type { Say } from './check-answer.ts'
import type { Model } from './model.ts'

/** Answers of acknowledge, release, dead-letter and extend, by what became of the lock. */
export function checkLockAnswer(
  model: Model,
  operation: Operation,
  value: unknown,
  say: Say,
): void {
  const { command, effects } = operation
  switch (command.verb) {
    case 'acknowledge': {
      const { itemsAcknowledged } = value as { itemsAcknowledged: number }
      const { lockId, ids } = command.request
      checkSettled(model, command, lockId, ids, itemsAcknowledged, effects.settledByLock, say)
      return
    }
    case 'release': {
      const { itemsReleased } = value as { itemsReleased: number }
      checkCount(effects.releasedByLock.get(command.request.lockId), itemsReleased, say)
      return
    }
    case 'deadLetter': {
      const { itemsDeadLettered } = value as { itemsDeadLettered: number }
      checkCount(effects.buriedByLock.get(command.request.lockId), itemsDeadLettered, say)
      return
    }
    case 'extend': {
      const { lockId, ttlSeconds } = command.request
      const { expiresAtMs } = value as { expiresAtMs: number }
      const ttlMs = Math.min(300, Math.max(1, ttlSeconds)) * 1_000
      if (
        expiresAtMs < operation.clockMinMs + ttlMs ||
        expiresAtMs > operation.clockMaxMs + ttlMs
      ) {
        say('an extension is as long as asked', `${lockId} until ${expiresAtMs}`)
      }
      // Two in the same millisecond ask for the same, and one write does it for both.
      const lock = model.queue(command.queue).locks.get(lockId)
      if (!effects.extended.has(lockId) && !lock?.expiries.has(expiresAtMs)) {
        say('a success has its effect', `lock ${lockId} was not extended`)
      }
      return
    }
    default:
  }
}

export function checkManyAnswer(
  model: Model,
  operation: Operation<CommandOf<'acknowledgeMany'>>,
  value: unknown,
  say: Say,
): void {
  const { command, effects } = operation
  const results = value as readonly AcknowledgeResult[]
  if (results.map(({ lockId }) => lockId).join() !== command.request.join()) {
    say('each lock has its result', `${results.length} results`)
  }
  for (const result of results) {
    const { lockId } = result
    if (result.kind === 'acknowledged') {
      const { itemsAcknowledged } = result
      checkSettled(model, command, lockId, undefined, itemsAcknowledged, effects.settledByLock, say)
    } else if (result.code !== 'STORE_UNAVAILABLE') {
      if (effects.settledByLock.has(lockId)) {
        say('a definite error changed nothing', `lock ${lockId} was settled`)
      }
      checkRefused(model, operation, lockId, result.code, say)
    }
  }
}

function checkSettled(
  model: Model,
  command: Command,
  lockId: string,
  ids: readonly string[] | undefined,
  answered: number,
  settledByLock: ReadonlyMap<string, number>,
  say: Say,
): void {
  const settled = settledByLock.get(lockId)
  const lock = model.queue(command.queue).locks.get(lockId)
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
function checkCount(done: number | undefined, answered: number, say: Say): void {
  if (done !== undefined && done !== answered) {
    say('a success counts exactly', `answered ${answered}, in truth ${done}`)
  }
}

export function checkLockRefusal(model: Model, operation: Operation, code: string, say: Say): void {
  const lockId = lockNamedBy(operation.command)
  if (lockId !== undefined) checkRefused(model, operation, lockId, code, say)
}

/** No call may refuse a lock that was live all the time by every clock involved. */
function checkRefused(
  model: Model,
  operation: Operation,
  lockId: string,
  code: string,
  say: Say,
): void {
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

function lockNamedBy(command: Command): string | undefined {
  switch (command.verb) {
    case 'acknowledge':
    case 'release':
    case 'deadLetter':
    case 'extend':
      return command.request.lockId
    case 'pop':
      return command.request.acknowledge
    default:
      return undefined
  }
}
