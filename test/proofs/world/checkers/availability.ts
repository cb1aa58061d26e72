import { LANES_MAX } from '../../../../engine/core/limits.ts'
import { isDone, itemsIn, nearestTo, type QueueRecord } from '../../../../engine/core/record.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { latestFor } from './expiry.ts'
import type { Model, QueueModel } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'
import type { Write } from './snapshot.ts'

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

/** So many takes of what was pushed after an entry was due may come before some of its items have joined. */
const PASSED_MAX = 2
/** A push that was under way may count as having been there before. */
const CLEARLY_MS = 1_000

/** A pop first joins what is due: it takes nothing while there was something that could join. */
export function checkDueFirst({ model, queue, queueModel }: Write, pop: Operation, take: Take) {
  const { scheduled, current, availability } = queueModel
  if (scheduled.count === 0 || pop.isHindered || maySeeOld(model, pop)) return
  const dueMs = availability.dueMs.since(pop.startedAtCommit)
  if (dueMs <= pop.clockMinMs) {
    model.violated('a pop passes over nothing that is due', `${queue} at ${dueMs}`)
  }
  // Nor do others that were pushed later take the room for ever.
  // After a change of its capacity, or a redrive, it holds more than that: no push has taken what is not there.
  if (current !== undefined && roomIn(current.record) + current.record.keptRoom < 0) return
  let [first, left, firstDue] = ['', 0, Number.POSITIVE_INFINITY]
  for (const [name, { due, items }] of scheduled.groups) {
    if (due < firstDue) [first, left, firstDue] = [name, items.size, due]
  }
  const { passed } = scheduled
  const isAgain = first === passed.name && left === passed.left
  // What came together, before any of it was taken, found room that nobody had to keep.
  const sinceMs = isAgain ? passed.sinceMs : 0
  const clearlyMs = Math.max(1_000 * firstDue + 2 * model.world.skewMaxMs + CLEARLY_MS, sinceMs)
  const isPassed = take.stretches.some(({ epoch, priority, from }) => {
    const place = model.log(queue, epoch, priority)?.places[from]
    if (place === undefined || place.item.scheduledId !== undefined) return false
    // One that came back was there before. What a redrive brings was pushed before, and no full queue keeps it out.
    if (place.handouts > 1) return false
    return place.sinceMs > clearlyMs && place.item.pushedAtMs > clearlyMs
  })
  if (!isPassed) return
  const times = isAgain ? passed.times + 1 : 1
  scheduled.passed = { name: first, left, times, sinceMs: sinceMs || model.world.scheduler.nowMs }
  if (times <= PASSED_MAX) return
  const what = `${queue}: ${first} was passed over ${times} times`
  model.violated('what is due does not starve', what)
}

/** Due items join as they were pushed, never early by the clock of who joins them, and in the order of time. */
export function checkJoined(model: Model, its: QueueModel, joined: readonly ScheduledItem[]): void {
  const { queue, scheduled, current } = its
  const { operation, world } = model
  world.statistics.count('path joined', joined.length)
  const say = (rule: string, { id, record }: ScheduledItem): void =>
    model.violated(rule, `${record.text} of ${queue} was ${id}`)
  const byId = new Map(joined.map((one) => [one.id, one]))
  /** The last of each priority, as they were appended. */
  const last = new Map<number, ScheduledItem>()
  for (const [id, { lane, item }] of scheduled.joining) {
    const one = byId.get(id)
    if (one === undefined) continue
    if (operation && 1_000 * one.due > latestFor(world, operation, operation.latestMs)) {
      say('never early', one)
    }
    const isSame =
      isPlaced(its, lane, one.priority) &&
      item.pushedAtMs === one.item.pushedAtMs &&
      item.expiresAtMs === one.item.expiresAtMs &&
      item.dueMs === 1_000 * one.due
    if (!isSame) say('an item joins as it was pushed', one)
    if (lane !== one.priority) world.statistics.count('path joined the nearest lane')
    const before = last.get(one.priority)
    if (before !== undefined && isBefore(one, before)) say('items join in their order', one)
    last.set(one.priority, one)
  }
  // A join takes all that comes before, unless no read shows it yet. What was pushed since the last change it need not
  // know of: pushes for later do not stand in the way of a join.
  if (current === undefined) return
  const latest = Math.max(...[...last.values()].map(({ due }) => due))
  const { unseen } = current.record.scheduled
  for (const { due, priority, row = '', items } of scheduled.groups.values()) {
    if (due > latest || unseen.includes(row)) continue
    const other = last.get(priority)
    for (const one of items.values()) {
      if (one.sinceCommit > scheduled.changedAtCommit) continue
      if (due < latest || (other !== undefined && isBefore(one, other))) {
        say('nothing joins before what is to join first', one)
      }
    }
  }
}

/** In the lane of its priority; or in the nearest, if the record holds as many lanes as it may and that one is missing. */
function isPlaced({ current }: QueueModel, lane: number, priority: number): boolean {
  const lanes = current?.record.lanes ?? new Map()
  const isFull = lanes.size === LANES_MAX && !lanes.has(priority)
  return lane === (isFull ? nearestTo(priority, lanes.keys()) : priority)
}
