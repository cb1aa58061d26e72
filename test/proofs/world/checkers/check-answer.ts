import type { QueuePatternInput } from '../../../../engine/queues.ts'
import type { Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { maySeeOld } from './availability.ts'
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
import type { Answer, Asked, Model, Refusal } from './model.ts'

/** By verb; a verb that is not here answers nothing that a model could judge. */
const checks: { readonly [V in Verb]?: (answer: Answer<V>) => void } = {
  push: checkPushed,
  pushTransactItem: ({ effects, say }) => {
    if (effects.appended !== 1) say('a success has its effect', 'nothing was appended')
  },
  transact: ({ command, effects, say }) => {
    if (command.own !== 'passes') say("the caller's own failure is handed over", command.own)
    if (effects.appended === command.items.length) return
    say('a success has its effect', `${effects.appended} of ${command.items.length} were appended`)
  },
  pop: (answer) => {
    checkPopped(answer)
    checkWaited(answer)
    // One that was turned away does not know whether there is anything.
    checkLeftDry(answer, isTurnedAway(answer) ? undefined : answer.value)
  },
  acknowledge: checkAcknowledged,
  acknowledgeMany: checkManyAcknowledged,
  release: ({ command: { request }, effects, value, say }) =>
    // Of named items some may wait for their retry already: what another call did counts as done again.
    (request.ids === undefined || request.delaySeconds === undefined) &&
    checkCount(effects.releasedByLock.get(request.lockId), value.itemsReleased, say),
  deadLetter: ({ command: { request }, effects, value, say }) =>
    checkCount(effects.buriedByLock.get(request.lockId), value.itemsDeadLettered, say),
  extend: checkExtended,
  cancel: emptying(checkCancelled),
  move: emptying(checkMoved),
  purge: emptying(({ effects, value, say }) => checkCount(effects.purged, value.itemsPurged, say)),
  redrive: ({ effects, value, say }) => checkCount(effects.redriven, value.itemsRedriven, say),
  configure: ({ effects: { configured }, say }) => {
    if (configured !== 1) say('a success has its effect once', `configured ${configured} times`)
  },
  unconfigure: ({ effects, value, say }) => {
    if (effects.configured > 1) say('a success has its effect once', 'given back twice')
    if (value.source.from === 'queue') say('settings that were given back are not the own', '')
  },
  configurePatterns: ({ model, command, effects: { configured }, value, say }) => {
    if (configured > 1) say('a success has its effect once', `changed ${configured} times`)
    // None where the patterns were these already.
    const told = model.patterns[value.revision]
    if (told === undefined || !haveSame(told, command.patterns)) {
      say('a success has its effect', `revision ${value.revision} has other patterns`)
    }
  },
  browse: checkBrowsed,
  scheduled: checkListed,
  inspect: checkInspected,
}

/** It may take the last. */
function emptying<V extends Verb>(check: (answer: Answer<V>) => void) {
  return (answer: Answer<V>): void => {
    check(answer)
    checkLeftDry(answer, undefined)
  }
}

const haveSame = (one: readonly QueuePatternInput[], other: readonly QueuePatternInput[]) =>
  one.length === other.length &&
  one.every(({ prefix }) => settingsBy(one, prefix) === settingsBy(other, prefix))

const refusals: Readonly<Record<string, (refusal: Refusal) => void>> = {
  BUSY: checkNotStarved,
  STORE_UNAVAILABLE: checkNotStarved,
  SEGMENT_UNAVAILABLE: checkNotStarved,
  LOCK_NOT_FOUND: checkLockRefusal,
  LOCK_EXPIRED: checkLockRefusal,
  INVALID_LOCK_ID: checkLockRefusal,
  IDEMPOTENCY_CONFLICT: checkRefusedKey,
  QUEUE_FULL: checkRefusedForRoom,
  INVALID_PARAMETER: checkRefusedTimes,
}

/** Judges an answer by what the operation's requests did, and by what was true meanwhile. */
export function checkAnswer(model: Model, operation: Operation): void {
  const { outcome, command, effects } = operation
  if (outcome === undefined || outcome.kind === 'crashed') return
  const say = (rule: string, explanation: string): void =>
    model.world.violated(rule, `${explanation} (answer of #${operation.id} ${command.verb})`)
  const asked = <More extends object>(more: More) => ({
    ...{ model, operation, command, effects, say, ...more },
    get queueModel() {
      return model.queue(command.queue)
    },
  })
  checkSeatLeft(asked({}))
  if (outcome.kind === 'unknown') {
    if (model.world.faultFree && !hasLostTake(asked({}))) {
      say('without faults every outcome is known', String(outcome.error))
    }
  } else if (outcome.kind === 'broken') {
    const { error } = outcome
    say('only our own errors come out', error instanceof Error ? `${error.stack}` : String(error))
  } else if (outcome.kind === 'refused') {
    const { code } = outcome.error
    checkNothingDone(asked({}))
    refusals[code]?.(asked({ code }))
  } else {
    const check = checks[command.verb] as ((answer: Answer) => void) | undefined
    check?.(asked({ value: outcome.value as Answer['value'] }))
  }
}

/** A claim took its items, and before it could read them a purge took them, or its lock was over by another's clock. */
function hasLostTake({ model, command, effects: { takes } }: Asked): boolean {
  if (command.verb !== 'pop') return false
  const { locks, queue } = model.queue(command.queue)
  if (takes.some(({ lockId = '' }) => locks.get(lockId)?.endedAtCommit !== undefined)) return true
  return takes
    .flatMap(({ stretches }) => stretches)
    .flatMap(({ epoch, priority, from, to }) =>
      model.log(queue, epoch, priority)?.places.slice(from, to),
    )
    .some((place) => place?.record.fate === 'purged')
}

/** The caller's own transaction may lose a race; no other call may ask its caller to try again. */
function checkNotStarved({ model, operation, command, code, say }: Refusal): void {
  if (!model.world.faultFree || command.verb === 'pushTransactItem') return
  if (command.verb === 'transact' && command.own !== 'passes') return
  // As long as nobody could see all of a transaction, nobody could tell what is there.
  if (code === 'BUSY' && maySeeOld(model, operation)) return
  say('no kind of request starves', code)
}

/** What a call has done, by the effects that tell. */
// biome-ignore format: a table
const deeds: Readonly<Partial<Record<keyof Operation['effects'], string>>> = {
  appended: 'appended items', takes: 'took items', takenOut: 'took items out by their ids',
  settledByLock: 'settled a lock', releasedByLock: 'released a lock', buriedByLock: 'dead-lettered a lock',
  extended: 'extended a lock', purged: 'purged items', redriven: 'redrove items',
  configured: 'changed the configuration',
}

function checkNothingDone({ effects, say }: Asked): void {
  const done = Object.entries(deeds).filter(([name]) => {
    const effect = effects[name as keyof typeof effects] as number | unknown[] | Set<unknown>
    if (typeof effect === 'number') return effect > 0
    return (Array.isArray(effect) ? effect.length : effect.size) > 0
  })
  if (done.length === 0) return
  say('a definite error changed nothing', done.map(([, what]) => what).join(', '))
}
