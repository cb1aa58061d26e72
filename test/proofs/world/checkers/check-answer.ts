import type { QueuePatternInput } from '../../../../lambdas/engine/queues.ts'
import type { Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { checkCancelled, checkMoved } from './check-by-id.ts'
import { settingsBy } from './check-configuration.ts'
import {
  checkAcknowledged,
  checkCount,
  checkExtended,
  checkLockRefusal,
  checkManyAcknowledged,
} from './check-locks.ts'
import { checkPopped, isTurnedAway } from './check-popped.ts'
import {
  checkPushed,
  checkRefusedForRoom,
  checkRefusedKey,
  checkRefusedTimes,
} from './check-pushed.ts'
import { checkBrowsed, checkInspected, checkListed } from './check-read-answer.ts'
import { checkLeftDry } from './check-record.ts'
import { checkSeatLeft, checkWaited } from './check-waiting.ts'
import type { Answer, Model, Refusal, Say } from './model.ts'

/** By verb; a verb that is not here answers nothing that a model could judge. */
const checks: { readonly [V in Verb]?: (answer: Answer<V>) => void } = {
  push: checkPushed,
  pushTransactItem: ({ operation, say }) => {
    if (operation.effects.appended !== 1) say('a success has its effect', 'nothing was appended')
  },
  transact: ({ operation: { command, effects }, say }) => {
    if (command.own !== 'passes') say("the caller's own failure is handed over", command.own)
    if (effects.appended === command.items.length) return
    say('a success has its effect', `${effects.appended} of ${command.items.length} were appended`)
  },
  pop: (answer) => {
    checkPopped(answer)
    checkWaited(answer)
    const { model, operation, value } = answer
    const isAway = isTurnedAway(model.queue(operation.command.queue), operation, value)
    // One that was turned away does not know whether there is anything.
    checkLeftDry(answer, isAway ? undefined : value)
  },
  acknowledge: checkAcknowledged,
  acknowledgeMany: checkManyAcknowledged,
  release: ({ operation: { command, effects }, value, say }) =>
    // Of named items some may wait for their retry already: what another call did counts as done again.
    (command.request.ids === undefined || command.request.delaySeconds === undefined) &&
    checkCount(effects.releasedByLock.get(command.request.lockId), value.itemsReleased, say),
  deadLetter: ({ operation: { command, effects }, value, say }) =>
    checkCount(effects.buriedByLock.get(command.request.lockId), value.itemsDeadLettered, say),
  extend: checkExtended,
  cancel: (answer) => {
    checkCancelled(answer)
    checkLeftDry(answer, undefined)
  },
  move: (answer) => {
    checkMoved(answer)
    checkLeftDry(answer, undefined)
  },
  purge: (answer) => {
    const { operation, value, say } = answer
    checkCount(operation.effects.purged, value.itemsPurged, say)
    checkLeftDry(answer, undefined)
  },
  redrive: ({ operation, value, say }) =>
    checkCount(operation.effects.redriven, value.itemsRedriven, say),
  configure: ({ operation, say }) => {
    const { configured } = operation.effects
    if (configured !== 1) say('a success has its effect once', `configured ${configured} times`)
  },
  unconfigure: ({ operation, value, say }) => {
    if (operation.effects.configured > 1) say('a success has its effect once', 'given back twice')
    if (value.source.from === 'queue') say('settings that were given back are not the own', '')
  },
  configurePatterns: ({ model, operation, value, say }) => {
    const { configured } = operation.effects
    if (configured > 1) say('a success has its effect once', `changed ${configured} times`)
    // None where the patterns were these already.
    const told = model.patterns.since(value.revision)[0]
    if (told === undefined || !haveSame(told, operation.command.patterns)) {
      say('a success has its effect', `revision ${value.revision} has other patterns`)
    }
  },
  browse: checkBrowsed,
  scheduled: checkListed,
  inspect: checkInspected,
}

const haveSame = (
  one: readonly QueuePatternInput[],
  other: readonly QueuePatternInput[],
): boolean =>
  one.length === other.length &&
  one.every(({ prefix }) => settingsBy(one, prefix) === settingsBy(other, prefix))

/** Judges an answer by what the operation's requests did, and by what was true meanwhile. */
export function checkAnswer(model: Model, operation: Operation): void {
  const { outcome, command } = operation
  if (outcome === undefined || outcome.kind === 'crashed') return
  const say = (rule: string, explanation: string): void =>
    model.world.violated(rule, `${explanation} (answer of #${operation.id} ${command.verb})`)
  checkSeatLeft(model, operation, say)
  if (outcome.kind === 'unknown') {
    if (model.world.faultFree && !hasLostTake(model, operation)) {
      say('without faults every outcome is known', String(outcome.error))
    }
    return
  }
  if (outcome.kind === 'broken') {
    const { error } = outcome
    say('only our own errors come out', error instanceof Error ? `${error.stack}` : String(error))
    return
  }
  if (outcome.kind === 'refused') {
    const refusal = { model, operation, say, code: outcome.error.code }
    checkNothingDone(operation, say)
    checkNotStarved(refusal)
    checkLockRefusal(refusal)
    checkRefusedKey(refusal)
    checkRefusedForRoom(refusal)
    checkRefusedTimes(refusal)
    return
  }
  const check = checks[command.verb] as ((answer: Answer) => void) | undefined
  check?.({ model, operation, value: outcome.value as Answer['value'], say })
}

/** A claim took its items, and before it could read them a purge took them, or its lock was over by another's clock. */
function hasLostTake(model: Model, { command, effects }: Operation): boolean {
  if (command.verb !== 'pop') return false
  const { locks } = model.queue(command.queue)
  const hasEnded = effects.takes.some(
    ({ lockId = '' }) => locks.get(lockId)?.endedAtCommit !== undefined,
  )
  if (hasEnded) return true
  return effects.takes
    .flatMap(({ stretches }) => stretches)
    .some(({ epoch, priority, from, to }) => {
      const log = model.log(command.queue, epoch, priority)
      return log?.places.slice(from, to).some(({ record }) => record.fate === 'purged') ?? false
    })
}

/** The caller's own transaction may lose a race; no other call may ask its caller to try again. */
function checkNotStarved({ model, operation, code, say }: Refusal): void {
  const { verb } = operation.command
  if (!model.world.faultFree || verb === 'pushTransactItem') return
  if (verb === 'transact' && operation.command.own !== 'passes') return
  if (code === 'BUSY' || code === 'STORE_UNAVAILABLE' || code === 'SEGMENT_UNAVAILABLE') {
    say('no kind of request starves', code)
  }
}

/** What a call has done, by the effects that tell. */
// biome-ignore format: a table
const deeds: Readonly<Partial<Record<keyof Operation['effects'], string>>> = {
  appended: 'appended items', takes: 'took items', takenOut: 'took items out by their ids',
  settledByLock: 'settled a lock', releasedByLock: 'released a lock', buriedByLock: 'dead-lettered a lock',
  extended: 'extended a lock', purged: 'purged items', redriven: 'redrove items',
  configured: 'changed the configuration',
}

function checkNothingDone({ effects }: Operation, say: Say): void {
  const done = Object.entries(deeds).filter(([name]) => {
    const effect = effects[name as keyof typeof effects] as number | unknown[] | Set<unknown>
    if (typeof effect === 'number') return effect > 0
    return (Array.isArray(effect) ? effect.length : effect.size) > 0
  })
  if (done.length === 0) return
  say('a definite error changed nothing', done.map(([, what]) => what).join(', '))
}
