import { isDone, itemsIn, type QueueRecord } from '../../../../engine/core/record.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model, QueueModel } from './model.ts'

const never = Number.POSITIVE_INFINITY

/** After each request that changed the queue. */
export function noteAvailability({ commits }: Model, queueModel: QueueModel): void {
  const { availability, current, scheduled } = queueModel
  const { fromMs, withRoomMs, dueMs, lackOfRoom } = availability
  const room = current === undefined ? never : roomIn(current.record)
  const keptRoom = current?.record.keptRoom ?? 0
  // What is kept for due items is for others only if there are none.
  lackOfRoom.set(-room - (scheduled.count === 0 ? keptRoom : 0), commits)
  const groups = current === undefined ? [] : [...scheduled.groups.values()]
  const unseen = current?.record.scheduled.unseen ?? []
  const firstOf = (some: typeof groups): number =>
    some.reduce((first, { due }) => Math.min(first, due), never)
  const withRoom = firstOf(groups)
  const first = room + keptRoom > 0 ? withRoom : never
  // Of a row that a read may not show yet, nobody can say when it will: until then, others come first.
  const seen = groups.filter(({ row = '' }) => !unseen.includes(row))
  const firstSeen = first === never || unseen.length === 0 ? first : firstOf(seen)
  const orFree = (ms: number): number => (current?.hasFree() ? Number.NEGATIVE_INFINITY : ms)
  dueMs.set(1_000 * firstSeen, commits)
  fromMs.set(orFree(1_000 * first), commits)
  withRoomMs.set(orFree(1_000 * withRoom), commits)
}

/** Acknowledged locks take up room until the next who looks for room folds them. */
export function roomIn({ room, locks }: QueueRecord): number {
  let items = room
  for (const lock of locks.values()) if (isDone(lock)) items += itemsIn(lock.stretches)
  return items
}

type Step = { readonly value: number; readonly fromCommit: number }

/** A number that changes with commits: the highest that it has been since any of them. */
export class Highest {
  /** Each less than the one before; the first counts from the beginning. */
  readonly #steps: Step[]

  constructor(first: number) {
    this.#steps = [{ value: first, fromCommit: 0 }]
  }

  set(value: number, commit: number): void {
    const steps = this.#steps
    let fromCommit = commit
    while (steps.length > 0 && (steps.at(-1) as Step).value <= value) {
      fromCommit = (steps.pop() as Step).fromCommit
    }
    // What was there before this commit counts until then.
    steps.push({ value, fromCommit })
  }

  since(commit: number): number {
    const step = this.#steps.findLast(({ fromCommit }) => fromCommit <= commit)
    return (step ?? (this.#steps[0] as Step)).value
  }
}

/** What there was to be had in a queue, at every moment of any call. */
export class Availability {
  /** From when on, by a pop's clock, it could have something: at once, or when the first that can join is due. */
  readonly fromMs = new Highest(never)
  /** The same, if there were room for all that is due. */
  readonly withRoomMs = new Highest(never)
  /** When the first that can join is due. */
  readonly dueMs = new Highest(never)
  /** The same below zero, so that the highest is the least room. */
  readonly lackOfRoom = new Highest(Number.NEGATIVE_INFINITY)
}

/**
 * Others see a transaction item by item, and its sender has no answer before they see all of it. So what it wrote may
 * be there already or not, for a call that ran meanwhile.
 */
export const maySeeOld = ({ world }: Model, { startedMs }: Operation): boolean =>
  world.store.settledAtMs > startedMs
