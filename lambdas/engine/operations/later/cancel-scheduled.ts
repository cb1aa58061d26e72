import type { Engine } from '../attempts/engine.ts'
import type { NewPlace } from './place-scheduled.ts'
import { takeScheduled } from './take-scheduled.ts'

/**
 * Takes scheduled items out, by the ids that their push answered; returns those that it took. What has joined
 * meanwhile, or was cancelled before, is left out.
 */
export async function cancelScheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await takeScheduled(engine, queue, ids)).keys())
}

/**
 * Gives scheduled items another time, another priority, or both; returns their new ids by the old ones. Each is in
 * one place at any time: the write that takes it out puts it where it is then. A time in the past joins at once.
 */
export async function rescheduled(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  place: NewPlace,
): Promise<ReadonlyMap<string, string>> {
  return takeScheduled(engine, queue, ids, place)
}
