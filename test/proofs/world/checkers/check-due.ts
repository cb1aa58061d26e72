import { LANES_MAX } from '../../../../engine/core/limits.ts'
import { nearestTo } from '../../../../engine/core/record.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { maySeeOld, roomIn } from './availability.ts'
import { latestFor } from './expiry.ts'
import type { Model, QueueModel } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'
import type { Write } from './snapshot.ts'

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
  if (lane === priority) return true
  const lanes = current?.record.lanes ?? new Map()
  return (
    lanes.size === LANES_MAX && !lanes.has(priority) && lane === nearestTo(priority, lanes.keys())
  )
}
