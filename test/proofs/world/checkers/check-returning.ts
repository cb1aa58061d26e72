import {
  countOf,
  none,
  numbersOf,
  type Ranges,
  subtract,
  union,
} from '../../../../engine/core/ranges.ts'
import { deliveriesOf } from '../../../../engine/core/record.ts'
import { isOvertaken, isRetry, RETRY_LOCKS_APART } from '../../../../engine/core/settling.ts'
import { locksNamedBy } from '../actors/callers/command.ts'
import { addTo } from './check-settling.ts'
import { isOwnClaim, mayBeOver, takeBack } from './expiry.ts'
import { type LaneChange, showRanges, type Write } from './snapshot.ts'

/**
 * Items leave a lock unsettled when it expires by the writer's clock, or is released or
 * dead-lettered by name. Each return counts one delivery; too many make the item dead.
 */
export function checkReturning(write: Write, change: LaneChange): void {
  const { model, queue, operation, command, before, after } = write
  const delayed = [...change.delayed.values()].reduce((all, some) => union(all, some), none)
  if (delayed.length > 0) checkDelayed(write, change, delayed)
  for (const lockId of new Set([...change.givenBack.keys(), ...change.buried.keys()])) {
    const lock = before.record.locks.get(lockId)
    if (lock === undefined) continue
    const back = change.givenBack.get(lockId) ?? none
    const buriedNow = change.buried.get(lockId) ?? none
    const over = mayBeOver(write, change.priority, buriedNow)
    const dead = subtract(buriedNow, over)
    const isOwn = operation !== undefined && isOwnClaim(operation, lockId)
    if (isOwn) takeBack(operation, change.priority, over)
    // Of what waits for its retry, a pop takes out what has expired.
    if ((isOwn || isRetry(lock)) && back.length === 0 && dead.length === 0) continue
    const isNamed = locksNamedBy(command).includes(lockId)
    const released = isNamed && command?.verb === 'release'
    const buried = isNamed && command?.verb === 'deadLetter'
    const expired = operation !== undefined && lock.expiresAtMs <= operation.clockMaxMs
    if (!released && !buried && (!expired || after.record.locks.has(lockId))) {
      const lost = `lost ${showRanges(back)} ${showRanges(dead)}; it expires at ${lock.expiresAtMs}`
      model.violated('a live lock keeps its items', `lock ${lockId} of ${queue} ${lost}`)
      continue
    }
    const byName = (released || buried) && !expired
    if (byName) model.noteEffect(`lock ${lockId} gave back items`)
    if (released) addTo(operation?.effects.releasedByLock, lockId, countOf(back) + countOf(dead))
    if (buried) addTo(operation?.effects.buriedByLock, lockId, countOf(dead))
    const now = subtract(back, delayed)
    if (released && now.length > 0 && (command.request.delaySeconds ?? 0) > 0 && !expired) {
      model.violated('what is released for later is not to be had now', `${lockId} of ${queue}`)
    }
    checkDeliveries(write, change, now, buried ? none : dead)
    const how = byName ? (released ? 'release' : 'dead-letter') : 'expiry'
    model.world.statistics.count(`path return by ${how}`)
  }
}

/** `died`: of too many deliveries. */
function checkDeliveries(write: Write, change: LaneChange, back: Ranges, died: Ranges): void {
  const { model, before } = write
  const { priority, before: laneBefore, after: laneAfter } = change
  if (laneAfter === undefined) return
  const say = (rule: string, n: number, how: string): void =>
    model.violated(rule, `number ${n} of lane ${priority} ${how}`)
  const most = before.record.configuration.maxDeliveries ?? Number.POSITIVE_INFINITY
  for (const n of numbersOf(back)) {
    const count = deliveriesOf(laneBefore.lane, n) + 1
    if (deliveriesOf(laneAfter.lane, n) !== count) say('deliveries are counted', n, 'came back')
    if (count >= most) say('max_deliveries holds', n, 'is visible again')
  }
  for (const n of numbersOf(died)) {
    const count = deliveriesOf(laneBefore.lane, n) + 1
    if (count < most) say('max_deliveries holds', n, 'died too early')
  }
  if (died.length > 0) model.world.statistics.count('path died of deliveries', countOf(died))
}

/**
 * Items wait for a retry only if somebody released their lock with a delay: for that long, in their places, and
 * without a delivery more until they are back.
 */
function checkDelayed(write: Write, change: LaneChange, all: Ranges): void {
  const { model, queue, operation, command, before, after } = write
  const { delayed, givenBack, priority } = change
  const say = (rule: string, what: string) =>
    model.violated(rule, `${queue} lane ${priority}: ${what}`)
  if (operation === undefined || command?.verb !== 'release') {
    say('only a release makes items wait', showRanges(all))
    return
  }
  const { lockId, delaySeconds = 0, overtake = false } = command.request
  if (delayed.size > 1 || subtract(all, givenBack.get(lockId) ?? none).length > 0) {
    say('only what was locked waits', `${showRanges(all)} by lock ${lockId}`)
  }
  const most = before.record.configuration.maxDeliveries ?? Number.POSITIVE_INFINITY
  for (const n of numbersOf(all)) {
    const count = deliveriesOf(change.before.lane, n)
    if (change.after !== undefined && deliveriesOf(change.after.lane, n) !== count) {
      say('a delivery counts when its item is back', `number ${n}`)
    }
    if (count + 1 >= most) say('what was delivered for the last time does not wait', `number ${n}`)
  }
  // Where many wait, they share locks.
  const isApart = [...before.record.locks.values()].filter(isRetry).length < RETRY_LOCKS_APART
  const delayMs = delaySeconds * 1_000
  const lastMs = operation.clockMaxMs + (isApart ? delayMs : Math.ceil((delayMs * 17) / 16))
  for (const retryId of delayed.keys()) {
    const { expiresAtMs: dueMs = 0, signs } = after.record.locks.get(retryId) ?? {}
    if (delayMs === 0 || dueMs < operation.clockMinMs + delayMs || dueMs > lastMs) {
      say('a retry comes when it was asked for', `${retryId} at ${dueMs}, after ${delayMs} ms`)
    }
    if (isOvertaken({ signs }) !== overtake) say('others wait if they must', retryId)
    model.world.statistics.count(overtake ? 'path put off, and overtaken' : 'path put off')
  }
}
