import type { PopOutcome } from '../../../../lambdas/engine/queues.ts'
import type { ErrorCode } from '../../../../lambdas/foundation/errors.ts'
import type { CommandOf } from '../command.ts'
import type { Operation } from '../operation.ts'
import { checkLockAnswer, checkLockRefusal, checkManyAnswer } from './check-lock-answer.ts'
import { checkLeftDry } from './check-marks.ts'
import { checkPopped } from './check-popped.ts'
import { checkPushed, checkRefusedKey } from './check-pushed.ts'
import { checkBrowsed, checkInspected } from './check-read-answer.ts'
import type { Model } from './model.ts'

/** Judges an answer by what the operation's requests did, and by what was true meanwhile. */
export function checkAnswer(model: Model, operation: Operation): void {
  const { outcome, command } = operation
  if (outcome === undefined || outcome.kind === 'crashed' || outcome.kind === 'unknown') return
  const say = (rule: string, explanation: string): void =>
    model.world.violated(rule, `${explanation} (answer of #${operation.id} ${command.verb})`)
  if (outcome.kind === 'broken') {
    const { error } = outcome
    say('only our own errors come out', error instanceof Error ? `${error.stack}` : String(error))
    return
  }
  if (outcome.kind === 'refused') {
    checkNothingDone(operation, say)
    checkNotStarved(model, operation, outcome.error.code, say)
    checkLockRefusal(model, operation, outcome.error.code, say)
    checkRefusedKey(model, operation, outcome.error.code, say)
    return
  }
  const { value } = outcome
  switch (command.verb) {
    case 'push':
      checkPushed(model, operation as Operation<CommandOf<'push'>>, value, say)
      return
    case 'pushTransactItem':
      if (operation.effects.appended !== 1) say('a success has its effect', 'nothing was appended')
      return
    case 'pop':
      checkPopped(model, operation as Operation<CommandOf<'pop'>>, value as PopOutcome, say)
      checkLeftDry(
        model.queue(command.queue),
        operation as Operation<CommandOf<'pop'>>,
        value as PopOutcome,
        model.world.faultFree,
        say,
      )
      return
    case 'acknowledge':
    case 'release':
    case 'deadLetter':
    case 'extend':
      checkLockAnswer(model, operation, value, say)
      return
    case 'acknowledgeMany':
      checkManyAnswer(model, operation as Operation<CommandOf<'acknowledgeMany'>>, value, say)
      return
    case 'purge': {
      const { itemsPurged } = value as { itemsPurged: number }
      if (itemsPurged !== operation.effects.purged) {
        say('a purge counts exactly', `${itemsPurged}, in truth ${operation.effects.purged}`)
      }
      checkLeftDry(
        model.queue(command.queue),
        operation as Operation<CommandOf<'purge'>>,
        undefined,
        model.world.faultFree,
        say,
      )
      return
    }
    case 'redrive': {
      const { itemsRedriven } = value as { itemsRedriven: number }
      if (itemsRedriven !== operation.effects.redriven) {
        say('a redrive counts exactly', `${itemsRedriven}, in truth ${operation.effects.redriven}`)
      }
      return
    }
    case 'configure':
      if (operation.effects.configured !== 1) {
        say('a success has its effect once', `configured ${operation.effects.configured} times`)
      }
      return
    case 'browse':
      checkBrowsed(model, operation as Operation<CommandOf<'browse'>>, value, say)
      return
    case 'inspect':
      checkInspected(model, operation as Operation<CommandOf<'inspect'>>, value, say)
      return
    default:
  }
}

/** The caller's own transaction may lose a race; no other call may ask its caller to try again. */
function checkNotStarved(
  { world }: Model,
  { command }: Operation,
  code: ErrorCode,
  say: Say,
): void {
  if (!world.faultFree || command.verb === 'pushTransactItem') return
  if (code === 'BUSY' || code === 'STORE_UNAVAILABLE' || code === 'SEGMENT_UNAVAILABLE') {
    say('no kind of request starves', code)
  }
}

export type Say = (rule: string, explanation: string) => void

function checkNothingDone({ effects }: Operation, say: Say): void {
  const done = [
    effects.appended > 0 && 'appended items',
    effects.takes.length > 0 && 'took items',
    effects.settledByLock.size > 0 && 'settled a lock',
    effects.releasedByLock.size > 0 && 'released a lock',
    effects.buriedByLock.size > 0 && 'dead-lettered a lock',
    effects.extended.size > 0 && 'extended a lock',
    effects.purged > 0 && 'purged items',
    effects.redriven > 0 && 'redrove items',
    effects.configured > 0 && 'changed the configuration',
  ].filter((what) => what !== false)
  if (done.length > 0) say('a definite error changed nothing', done.join(', '))
}
