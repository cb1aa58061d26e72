import { RETRY_LOCKS_APART } from '../../../../lambdas/engine/core/limits.ts'
import {
  countOf,
  none,
  numbersOf,
  type Ranges,
  subtract,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import { deliveriesOf } from '../../../../lambdas/engine/core/record.ts'
import { isOvertaken, isRetry } from '../../../../lambdas/engine/core/retry.ts'
import { locksNamedBy } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { addTo } from './check-settling.ts'
import { isOwnClaim, mayBeOver, takeBack } from './expiry.ts'
import { type LaneChange, showRanges } from './lane-view.ts'
import type { Write } from './snapshot.ts'

/**
 * Items leave a lock unsettled when it expires by the writer's clock, or is released or
 * dead-lettered by name. Each return counts one delivery; too many make the item dead.
 */
export function checkReturning(write: Write, change: LaneChange): void {
  const { model, queue, before, after } = write
  const { operation } = model
  checkDelayed(write, change)
  const delayed = delayedIn(change)
  const locks = new Set([...change.givenBack.keys(), ...change.buried.keys()])
  for (const lockId of locks) {
    const lock = before.record.locks.get(lockId)
    if (lock === undefined) continue
    const back = change.givenBack.get(lockId) ?? []
    const buriedNow = change.buried.get(lockId) ?? []
    const over = mayBeOver(write, change.priority, buriedNow)
    const dead = subtract(buriedNow, over)
    if (operation !== undefined && isOwnClaim(operation, lockId)) {
      takeBack(operation, change.priority, over)
      if (back.length === 0 && dead.length === 0) continue
    }
    // Of what waits for its retry, a pop takes out what has expired.
    if (isRetry(lockId) && back.length === 0 && dead.length === 0) continue
    const command = operation?.command.queue === queue ? operation.command : undefined
    const isNamed = locksNamedBy(command).includes(lockId)
    const released = isNamed && command?.verb === 'release'
    const buried = isNamed && command?.verb === 'deadLetter'
    const expired = operation !== undefined && lock.expiresAtMs <= operation.clockMaxMs
    if (!released && !buried && (!expired || after.record.locks.has(lockId))) {
      model.violated(
        'a live lock keeps its items',
        `lock ${lockId} of ${queue} lost ${showRanges(back)} ${showRanges(dead)}; it expires at ${lock.expiresAtMs}`,
      )
      continue
    }
    const byName = (released || buried) && !expired
    if (byName) model.noteEffect(`lock ${lockId} gave back items`)
    if (released) addTo(operation?.effects.releasedByLock, lockId, countOf(back) + countOf(dead))
    if (buried) addTo(operation?.effects.buriedByLock, lockId, countOf(dead))
    const now = subtract(back, delayed)
    if (released && now.length > 0 && operation !== undefined && delays(operation) && !expired) {
      model.violated('what is released for later is not to be had now', `${lockId} of ${queue}`)
    }
    checkDeliveries(write, change, now, dead, buried)
    const how = byName ? (released ? 'release' : 'dead-letter') : 'expiry'
    model.world.statistics.count(`path return by ${how}`)
  }
}

const delays = ({ command }: Operation): boolean =>
  command.verb === 'release' && (command.request.delaySeconds ?? 0) > 0

function checkDeliveries(
  write: Write,
  change: LaneChange,
  back: Ranges,
  dead: Ranges,
  byHand: boolean,
): void {
  const { model, before } = write
  const { priority, before: laneBefore, after: laneAfter } = change
  if (laneAfter === undefined) return
  const most = before.record.configuration.maxDeliveries ?? Number.POSITIVE_INFINITY
  for (const n of numbersOf(back)) {
    const count = deliveriesOf(laneBefore.lane, n) + 1
    if (deliveriesOf(laneAfter.lane, n) !== count) {
      model.violated('deliveries are counted', `number ${n} of lane ${priority} came back`)
    }
    if (count >= most) {
      model.violated('max_deliveries holds', `number ${n} of lane ${priority} is visible again`)
    }
  }
  if (byHand) return
  for (const n of numbersOf(dead)) {
    if (deliveriesOf(laneBefore.lane, n) + 1 < most) {
      model.violated('max_deliveries holds', `number ${n} of lane ${priority} died too early`)
    }
  }
  if (dead.length > 0) model.world.statistics.count('path died of deliveries', countOf(dead))
}

/** What one write put into retry locks. */
const delayedIn = ({ delayed }: LaneChange): Ranges =>
  [...delayed.values()].reduce((all, numbers) => union(all, numbers), none)

/**
 * Items wait for a retry only if somebody released their lock with a delay: for that long, in their places, and
 * without a delivery more until they are back.
 */
function checkDelayed(write: Write, change: LaneChange): void {
  const { model, queue, after } = write
  const { operation } = model
  const { delayed, givenBack, priority } = change
  if (delayed.size === 0) return
  const say = (rule: string, what: string) =>
    model.violated(rule, `${queue} lane ${priority}: ${what}`)
  const command = operation?.command
  const all = delayedIn(change)
  if (operation === undefined || command?.verb !== 'release' || command.queue !== queue) {
    say('only a release makes items wait', showRanges(all))
    return
  }
  const { lockId, delaySeconds = 0, overtake = false } = command.request
  const fromIt = givenBack.get(lockId) ?? none
  if (delayed.size > 1 || subtract(all, fromIt).length > 0) {
    say('only what was locked waits', `${showRanges(all)} by lock ${lockId}`)
  }
  const most = write.before.record.configuration.maxDeliveries ?? Number.POSITIVE_INFINITY
  for (const n of numbersOf(all)) {
    const count = deliveriesOf(change.before.lane, n)
    if (change.after !== undefined && deliveriesOf(change.after.lane, n) !== count) {
      say('a delivery counts when its item is back', `number ${n}`)
    }
    if (count + 1 >= most) say('what was delivered for the last time does not wait', `number ${n}`)
  }
  for (const retryId of delayed.keys()) {
    const dueMs = after.record.locks.get(retryId)?.expiresAtMs ?? 0
    const [firstMs, lastMs] = [operation.clockMinMs, operation.clockMaxMs]
    const delayMs = delaySeconds * 1_000
    // Where many wait, they share locks.
    const waiting = [...write.before.record.locks.keys()].filter(isRetry)
    const mostMs = waiting.length < RETRY_LOCKS_APART ? delayMs : Math.ceil((delayMs * 17) / 16)
    if (delayMs === 0 || dueMs < firstMs + delayMs || dueMs > lastMs + mostMs) {
      say('a retry comes when it was asked for', `${retryId} at ${dueMs}, after ${delayMs} ms`)
    }
    if (isOvertaken(retryId) !== overtake) say('others wait if they must', retryId)
    model.world.statistics.count(overtake ? 'path put off, and overtaken' : 'path put off')
  }
}
