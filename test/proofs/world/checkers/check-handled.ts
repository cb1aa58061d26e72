import { isDone, unsettledIn } from '../../../../lambdas/engine/core/record.ts'
import { isOvertaken, isRetry } from '../../../../lambdas/engine/core/retry.ts'
import type { Model } from './model.ts'

/**
 * Something that is free is taken within this long while a healthy consumer exists and nothing that it has to wait
 * for is in the way: the sweep of the next minute, a late event, a run that waits for an environment.
 */
const HANDLED_WITHIN_MS = 90_000

/** Nobody who would take it is at work, and none is on the way. */
export function checkHandled(model: Model, queue: string): void {
  const { world } = model
  const { nowMs } = world.scheduler
  const { current, freeSinceCommit, freeSinceMs, takenMs } = model.queue(queue)
  if (current === undefined || freeSinceCommit === undefined) return
  const locks = [...current.record.locks]
  // An exclusive consumer waits for all of these; their end is an event.
  if (locks.some(([lockId, lock]) => !isDone(lock) && !isOvertaken(lockId))) return
  const waitedMs = nowMs - Math.max(freeSinceMs, takenMs)
  if (waitedMs <= HANDLED_WITHIN_MS) return
  world.violated('what is free is handled', `${queue} has had items for ${waitedMs} ms`)
}

/** Nothing is left to handle, now or later. What is dead is the housekeeper's. */
export function isWorkedOff(model: Model, queue: string): boolean {
  const { current } = model.queue(queue)
  if (current === undefined) return true
  const { lanes, locks, scheduled } = current.record
  if (scheduled.items > 0 || [...locks.keys()].some(isRetry)) return false
  if ([...locks.values()].some((lock) => !isDone(lock))) return false
  return [...lanes.values()].every((lane) => unsettledIn(lane).length === 0)
}
