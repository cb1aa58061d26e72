import { RETRY_LOCKS_APART } from '../../../../lambdas/engine/core/limits.ts'
import {
  none,
  numbersOf,
  type Ranges,
  subtract,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import { deliveriesOf } from '../../../../lambdas/engine/core/record.ts'
import { isOvertaken, isRetry } from '../../../../lambdas/engine/core/retry.ts'
import type { LaneChange } from './lane-change.ts'
import { showRanges } from './lane-view.ts'
import type { Write } from './snapshot.ts'

/** What one write put into retry locks. */
export const delayedIn = ({ delayed }: LaneChange): Ranges =>
  [...delayed.values()].reduce((all, numbers) => union(all, numbers), none)

/**
 * Items wait for a retry only if somebody released their lock with a delay: for that long, in their places, and
 * without a delivery more until they are back.
 */
export function checkDelayed(write: Write, change: LaneChange): void {
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
    if (count + 1 >= most) {
      say('what was delivered for the last time does not wait', `number ${n}`)
    }
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
