import type { Engine } from '../attempts/engine.ts'
import type { NewPlace } from './place-scheduled.ts'
import { takeScheduled } from './take-scheduled.ts'

/**
 * Takes scheduled items out by their ids, and returns the ids of those that it took out, not of items that had joined
 * or been cancelled before.
 */
export async function cancelScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await takeScheduled(engine, queue, ids)).keys())
}

/**
 * Gives scheduled items another time, another priority, or both; returns their new ids by the old ones. One write takes
 * an item out of its old place and puts it into the new one, so it is in one place at any time. An item whose new time
 * has passed joins with the next pop or sweep.
 */
export async function rescheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place: NewPlace,
): Promise<ReadonlyMap<string, string>> {
  return takeScheduled(engine, queue, ids, place)
}
