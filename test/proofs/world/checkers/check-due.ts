import { isCrowded } from '../../../../lambdas/engine/core/joinable.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { maySeeOld, roomIn } from './availability.ts'
import { latestFor } from './expiry.ts'
import type { Model, QueueModel } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

/** So many takes of what was pushed after an item was due may come before that item has joined. */
const PASSED_MAX = 2
/** A push that was under way may count as having been there before. */
const CLEARLY_MS = 1_000

/** A pop first joins what is due: it takes nothing while there was something that could join. */
export function checkDueFirst(
  model: Model,
  queueModel: QueueModel,
  operation: Operation<CommandOf<'pop'>>,
  take: Take,
): void {
  if (queueModel.scheduled.count === 0 || operation.isHindered || maySeeOld(model, operation))
    return
  const { startedAtCommit, clockMinMs } = operation
  const dueMs = queueModel.availability.dueMs.since(startedAtCommit)
  if (dueMs <= clockMinMs) {
    model.violated('a pop passes over nothing that is due', `${queueModel.queue} at ${dueMs}`)
  }
  checkNotStarved(model, queueModel, take)
}

/** Nor do others that were pushed later take the room for ever. */
function checkNotStarved(
  model: Model,
  { queue, scheduled, current }: QueueModel,
  take: Take,
): void {
  // After a change of its capacity, or a redrive, it holds more than that: no push has taken what is not there.
  if (current !== undefined && roomIn(current.record) + current.record.keptRoom < 0) return
  let [first, firstDue] = ['', Number.POSITIVE_INFINITY]
  for (const [name, { due }] of scheduled.groups) {
    if (due < firstDue) [first, firstDue] = [name, due]
  }
  const clearlyMs = 1_000 * firstDue + 2 * model.world.skewMaxMs + CLEARLY_MS
  const isPassed = take.stretches.some(({ epoch, priority, from }) => {
    const place = model.log(queue, epoch, priority)?.places[from]
    if (place === undefined || place.item.scheduledId !== undefined) return false
    // One that came back was there before. What a redrive brings was pushed before, and no full queue keeps it out.
    if (place.handouts > 1) return false
    return place.sinceMs > clearlyMs && place.item.pushedAtMs > clearlyMs
  })
  if (!isPassed) return
  const times = first === scheduled.passed.name ? scheduled.passed.times + 1 : 1
  scheduled.passed = { name: first, times }
  if (times > PASSED_MAX) {
    const what = `${queue}: ${first} was passed over ${times} times`
    model.violated('what is due does not starve', what)
  }
}

/** Due items join as they were pushed, never early by the clock of who joins them, and in the order of time. */
export function checkJoined(
  model: Model,
  queueModel: QueueModel,
  joined: readonly ScheduledItem[],
): void {
  const { operation, world } = model
  const { queue, scheduled } = queueModel
  world.statistics.count('path joined', joined.length)
  const say = (rule: string, { id, record }: ScheduledItem): void =>
    model.violated(rule, `${record.text} of ${queue} was ${id}`)
  for (const one of joined) {
    if (operation && 1_000 * one.due > latestFor(world, operation, operation.latestMs))
      say('never early', one)
    const { lane, item } = scheduled.joining.get(one.id) ?? {}
    const isSame =
      lane === one.priority &&
      item?.pushedAtMs === one.item.pushedAtMs &&
      item.expiresAtMs === one.item.expiresAtMs &&
      item.dueMs === 1_000 * one.due
    if (!isSame) say('an item joins as it was pushed', one)
  }
  const last = checkOrder(queueModel, joined, say)
  checkNoneLeft(queueModel, last, say)
}

type SayOf = (rule: string, one: ScheduledItem) => void

function checkOrder(
  { scheduled }: QueueModel,
  joined: readonly ScheduledItem[],
  say: SayOf,
): ReadonlyMap<number, ScheduledItem> {
  /** The last of each lane, as they were appended. */
  const last = new Map<number, ScheduledItem>()
  const byId = new Map(joined.map((one) => [one.id, one]))
  for (const id of scheduled.joining.keys()) {
    const one = byId.get(id)
    if (one === undefined) continue
    const before = last.get(one.priority)
    if (before !== undefined && isBefore(one, before)) say('items join in their order', one)
    last.set(one.priority, one)
  }
  return last
}

/**
 * A join takes all that comes before, unless it has no lane or no read shows it yet. What was pushed since the
 * last change it need not know of: pushes for later do not stand in the way of a join.
 */
function checkNoneLeft(
  { scheduled, current }: QueueModel,
  last: ReadonlyMap<number, ScheduledItem>,
  say: SayOf,
): void {
  if (current === undefined || isCrowded(current.record)) return
  const latest = Math.max(...[...last.values()].map(({ due }) => due))
  const { unseen } = current.record.scheduled
  for (const { due, priority, row = '', items } of scheduled.groups.values()) {
    if (due > latest || unseen.includes(row)) continue
    for (const one of items.values()) {
      if (one.sinceCommit > scheduled.changedAtCommit) continue
      const other = last.get(priority)
      if (due < latest || (other !== undefined && isBefore(one, other))) {
        say('nothing joins before what is to join first', one)
      }
    }
  }
}
