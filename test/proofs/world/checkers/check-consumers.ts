import { isDone, unsettledIn } from '../../../../engine/core/record.ts'
import { isOvertaken } from '../../../../engine/core/settling.ts'
import type { World } from '../harness/world.ts'
import type { Model, QueueModel } from './model.ts'

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
  const locks = [...current.record.locks.values()]
  // An exclusive consumer waits for all of these; their end is an event.
  if (locks.some((lock) => !isDone(lock) && !isOvertaken(lock))) return
  const waitedMs = nowMs - Math.max(freeSinceMs, takenMs)
  if (waitedMs <= HANDLED_WITHIN_MS) return
  world.violated('what is free is handled', `${queue} has had items for ${waitedMs} ms`)
}

/** Nothing is there, now or later. */
export const isDrained = ({ current }: QueueModel): boolean =>
  current === undefined ||
  (current.record.scheduled.items === 0 &&
    [...current.record.lanes.values()].every((lane) => unsettledIn(lane).length === 0))

/** Nor does anybody hold a lock. What is dead is the housekeeper's. */
export const isWorkedOff = (queueModel: QueueModel): boolean =>
  isDrained(queueModel) && [...(queueModel.current?.record.locks.values() ?? [])].every(isDone)

/** A turn of a second with the handler that ends it, for each of the two others, and a look. */
const TURN_MS_MAX = 2 * (1_000 + 1_000) + 1_000

/** While others wait a queue gives up its place: `called` has the times of its handler's calls. */
export function checkTurns(world: World, called: Map<string, number[]>, sinceMs: number): void {
  if (called.size < 3) world.violated('everybody has a turn', `${called.size} queues of 3 had one`)
  for (const [queue, times] of called) {
    const waits = times.map((ms, index) => ms - (times[index - 1] ?? sinceMs))
    const longest = Math.max(...waits)
    if (longest > TURN_MS_MAX + 100 * world.latencyMaxMs) {
      world.violated('everybody has a turn', `${queue} waited ${longest} ms`)
    }
  }
}

/** With nothing to do a process looks every five seconds, as it was asked to: here with two of grace. */
export function checkIdle(world: World, looks: number, ms: number): void {
  if (looks <= ms / 5_000 + 2) return
  world.violated('who has nothing to do hardly asks', `${looks} looks in ${ms} ms`)
}
