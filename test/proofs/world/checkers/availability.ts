import { hasEmptyLane, isCrowded } from '../../../../lambdas/engine/core/joinable.ts'
import { isDone, itemsIn, type QueueRecord } from '../../../../lambdas/engine/core/record.ts'
import { Highest } from './highest.ts'
import type { Model, QueueModel } from './model.ts'

/** What there was to be had in a queue, at every moment of any call. */
export type Availability = {
  /** From when on, by a pop's clock, it could have something: at once, or when the first that can join is due. */
  readonly fromMs: Highest
  /** When the first that can join is due. */
  readonly dueMs: Highest
  /** The same below zero, so that the highest is the least room. */
  readonly lackOfRoom: Highest
}

const never = Number.POSITIVE_INFINITY

export const noneAvailable = (): Availability => ({
  fromMs: new Highest(never),
  dueMs: new Highest(never),
  lackOfRoom: new Highest(Number.NEGATIVE_INFINITY),
})

/** After each request that changed the queue. */
export function noteAvailability(
  { commits }: Model,
  { availability, current, scheduled }: QueueModel,
): void {
  const { fromMs, dueMs, lackOfRoom } = availability
  const room = current === undefined ? never : roomIn(current.record)
  const keptRoom = current?.record.keptRoom ?? 0
  // What is kept for due items is for others only if there are none.
  lackOfRoom.set(-room - (scheduled.count === 0 ? keptRoom : 0), commits)
  const isSomeDue = current !== undefined && scheduled.count > 0 && room + keptRoom > 0
  const first = isSomeDue ? firstThatCanJoin(scheduled.groups, current.record) : never
  dueMs.set(1_000 * first, commits)
  fromMs.set(current?.hasFree() ? Number.NEGATIVE_INFINITY : 1_000 * first, commits)
}

/** Acknowledged locks take up room until the next who looks for room folds them. */
function roomIn({ room, locks }: QueueRecord): number {
  let items = room
  for (const lock of locks.values()) if (isDone(lock)) items += itemsIn(lock.stretches)
  return items
}

function firstThatCanJoin(groups: QueueModel['scheduled']['groups'], record: QueueRecord): number {
  const { lanes, scheduled } = record
  const canMakeLane = !isCrowded(record) || hasEmptyLane(record)
  let first = never
  for (const { due, priority, row = '' } of groups.values()) {
    if (due >= first) continue
    // Of a row that a read may not show yet, nobody can say when it will.
    if ((canMakeLane || lanes.has(priority)) && !scheduled.unseen.includes(row)) first = due
  }
  return first
}
