import type { Item } from '../../../../engine/core/item.ts'
import { itemId } from '../../../../engine/core/keys.ts'
import { numbersOf } from '../../../../engine/core/ranges.ts'
import { deliveriesOf, isDone } from '../../../../engine/core/record.ts'
import { isOvertaken, isRetry } from '../../../../engine/core/settling.ts'
import type { PopOutcome } from '../../../../engine/queues.ts'
import type { Take } from '../actors/callers/operation.ts'
import { maySeeOld } from './availability.ts'
import { checkSettledCount } from './check-locks.ts'
import { noteHandouts } from './check-taking.ts'
import { expiryMsOf } from './expiry.ts'
import type { Answer, Model, QueueModel } from './model.ts'

type Popped = Answer<'pop'>
type Items = Extract<PopOutcome, { kind: 'items' }>

export function checkPopped(answer: Popped): void {
  const { model, command, effects, queueModel, value: outcome, say } = answer
  const { queue, request } = command
  const { takes, maybeTaken } = effects
  const isMaybe = takes.length === 0 && outcome.kind === 'items' && outcome.lock === undefined
  const take = takes[0] ?? (isMaybe ? maybeTaken : undefined)
  if (takes.length === 0 && take !== undefined) noteHandouts(model, queue, take)
  if (outcome.kind !== 'locked' && request.acknowledge !== undefined) {
    checkCombined(answer, request.acknowledge, outcome.itemsAcknowledged)
  }
  if (outcome.kind === 'items') {
    checkTexts(answer, outcome)
    const lock = queueModel.locks.get(outcome.lock?.id ?? '')
    const isRepeat = lock?.keyHash !== undefined && request.idempotencyKey !== undefined
    if (take !== undefined) checkTaken(answer, take, outcome)
    else if (!isRepeat) say('a pop that answers items took them', `${outcome.items.length} items`)
    return
  }
  if (take !== undefined && idsOf(take).some((id) => !isPurged(model, queue, id))) {
    say('an empty answer took nothing', JSON.stringify(take))
  }
  if (outcome.kind === 'locked') {
    const settled = effects.settledByLock.size
    if (settled > 0) say('a definite error changed nothing', 'locked, and a lock was settled')
    checkLocked(answer)
  } else if (!outcome.more) checkEmpty(answer)
  else if (effects.passedOver === 0 && maybeTaken === undefined && !isTurnedAway(answer)) {
    say('a pop that says “more” has met some', queue)
  }
}

function checkTaken({ model, command, say }: Popped, take: Take, { items, lock }: Items): void {
  const answered = items.map(({ id }) => id)
  const told = new Set(answered)
  const ids = idsOf(take).filter(
    (id) => told.has(id) || !(take.maybe.has(id) || isPurged(model, command.queue, id)),
  )
  if (ids.join() !== answered.join()) {
    say('a pop answers what it took', `answered ${answered.join()}, took ${ids.join()}`)
  }
  if (take.lockId !== lock?.id) say('a pop answers its lock', `${lock?.id}, made ${take.lockId}`)
}

const idsOf = ({ stretches }: Take): string[] =>
  stretches.flatMap(({ priority, epoch, from, to }) =>
    Array.from(numbersOf([{ from, to }]), (sequence) => itemId({ priority, epoch, sequence })),
  )

/** A purge by ids took it out of the lock before the claim, whose answer was lost or late, could read it. */
const isPurged = (model: Model, queue: string, id: string): boolean =>
  model.place(queue, id)?.record.fate === 'purged'

function checkTexts(answer: Popped, outcome: Items): void {
  const { model, operation, command, effects, say } = answer
  const own = effects.takes.length > 0
  for (const { text, id, priority, deliveries, pushedAtMs } of outcome.items) {
    const known = model.place(command.queue, id)
    if (known?.item.text !== text || known.log.priority !== priority) {
      say('nothing is delivered that was not pushed', `${text} as ${id}`)
      continue
    }
    if (own) checkExpiry(answer, known.item)
    if (known.item.pushedAtMs !== pushedAtMs) say('an item keeps its time', `${text} ${pushedAtMs}`)
    if (deliveries < 1 || deliveries > known.handouts) {
      say('deliveries are counted', `${text}: ${deliveries} of ${known.handouts}`)
    }
    const { settledAtCommit, fate } = known.record
    if (fate === 'acknowledged' && (settledAtCommit ?? 0) <= operation.startedAtCommit && own) {
      say('what was acknowledged is never delivered again', text)
    }
  }
}

/** By settings that changed while the pop ran it may have been over, or not. */
function checkExpiry({ operation, queueModel, say }: Popped, item: Item): void {
  const { startedAtCommit, clockMinMs } = operation
  const { current, configuredAtCommit } = queueModel
  const isSettled = configuredAtCommit <= startedAtCommit
  const ttl = isSettled ? current?.record.configuration.itemTtlSeconds : undefined
  if (expiryMsOf(item, ttl) > clockMinMs) return
  say('no item is delivered after its expiry', `${item.text} at ${clockMinMs}`)
}

/** There was a moment while the pop ran at which it could have found nothing. */
function checkEmpty({ model, operation, effects, queueModel, say }: Popped): void {
  const { startedAtCommit, clockMinMs } = operation
  // What it acknowledges makes room for what is due: for that it is no excuse that there was none before.
  const { availability } = queueModel
  const sinceCommit = Math.max(startedAtCommit, effects.settledAtCommit)
  const fromMs = Math.max(
    availability.fromMs.since(sinceCommit),
    availability.withRoomMs.since(startedAtCommit),
  )
  if (fromMs <= clockMinMs && !maySeeOld(model, operation)) {
    const what = fromMs < 0 ? 'visible items' : `items that were due at ${fromMs}`
    say('empty is never guessed', `${queueModel.queue} had ${what} all the time`)
  }
  // With another `max_deliveries` the same locks may have led to the dead-letter queue.
  if (queueModel.configuredAtCommit > startedAtCommit) return
  for (const [lockId, lock] of queueModel.current?.record.locks ?? []) {
    if (isDone(lock) || lock.expiresAtMs > operation.clockMinMs) continue
    const known = queueModel.locks.get(lockId)
    if (known === undefined || known.changedAtCommit > startedAtCommit) continue
    if (returnsAny(queueModel, lockId)) {
      say('empty is never guessed', `lock ${lockId} had expired at ${lock.expiresAtMs}`)
    }
  }
}

/** Whether the end of a lock makes items visible, and does not send them all to their death. */
function returnsAny({ current }: QueueModel, lockId: string): boolean {
  const most = current?.record.configuration.maxDeliveries ?? Number.POSITIVE_INFINITY
  for (const priority of current?.record.lanes.keys() ?? []) {
    const view = current?.view(priority)
    for (const n of numbersOf(view?.locked.get(lockId) ?? [])) {
      if (view !== undefined && deliveriesOf(view.lane, n) + 1 < most) return true
    }
  }
  return false
}

/** "Locked", or that the limit refuses it, would say that nothing was changed. */
export const hasAcknowledgedAndWaited = ({ waitedMs = 0, ...outcome }: PopOutcome): boolean =>
  waitedMs > 0 && outcome.kind === 'empty' && outcome.itemsAcknowledged !== undefined

/** The queue has a limit of pops, or may have had one while the pop ran. */
export const mayBeLimited = ({ queueModel, operation }: Popped): boolean =>
  queueModel.configuredAtCommit > operation.startedAtCommit ||
  queueModel.current?.record.configuration.popLimit !== undefined

/** After it had acknowledged, the queue let it have nothing, whatever is in there; it says to come again. */
export function isTurnedAway(answer: Popped): boolean {
  const { model, value } = answer
  if (value.kind !== 'empty' || !value.more || value.itemsAcknowledged === undefined) return false
  const isRefused = mayBeLimited(answer) || !model.world.faultFree
  return isLocked(answer) || (hasAcknowledgedAndWaited(value) && isRefused)
}

function checkLocked(answer: Popped): void {
  const { operation, command, say } = answer
  const { queue, request } = command
  if (request.competing) say('competing pops pass by locks', queue)
  if (!isLocked(answer)) {
    say('locked is never guessed', `no lock of ${queue} was live`)
  } else if (!operation.isHindered && isHeldByExpired(answer)) {
    say('what has expired holds up nothing', queue)
  }
}

/** All that held it up, during the whole call, were items that wait for a retry that they will not live to see. */
function isHeldByExpired({ model, queueModel, operation }: Popped): boolean {
  const { queue, current, configuredAtCommit, locks } = queueModel
  const { startedAtCommit, clockMinMs } = operation
  if (current === undefined || configuredAtCommit > startedAtCommit) return false
  const { itemTtlSeconds } = current.record.configuration
  const holding = [...current.record.locks].filter(
    ([, lock]) => !isDone(lock) && !isOvertaken(lock) && lock.expiresAtMs > clockMinMs,
  )
  const isOver = ([lockId, lock]: (typeof holding)[number]): boolean =>
    isRetry(lock) &&
    (locks.get(lockId)?.changedAtCommit ?? 0) <= startedAtCommit &&
    lock.stretches.every(({ priority, from, to }) => {
      const epoch = current.record.lanes.get(priority)?.epoch ?? ''
      const places = model.log(queue, epoch, priority)?.places.slice(from, to) ?? []
      return places.every(({ item }) => expiryMsOf(item, itemTtlSeconds) <= clockMinMs)
    })
  return holding.length > 0 && holding.every(isOver)
}

function isLocked({ queueModel, command, operation }: Popped): boolean {
  const { startedAtCommit, clockMinMs } = operation
  if (command.request.competing) return false
  return [...queueModel.locks.values()].some(
    ({ signs, endedAtCommit = Number.POSITIVE_INFINITY, longestMs }) =>
      !isOvertaken({ signs }) && endedAtCommit >= startedAtCommit && longestMs > clockMinMs,
  )
}

function checkCombined(answer: Popped, lockId: string, answered: number | undefined): void {
  const { effects, queueModel, say } = answer
  if (answered !== undefined) checkSettledCount(answer, lockId, answered)
  // A repeat by key, and the lock it had acknowledged is too long ago to be remembered.
  else if (effects.takes.length > 0 || !queueModel.locks.get(lockId)?.acknowledged) {
    say('a combined pop tells what it acknowledged', lockId)
  }
}
