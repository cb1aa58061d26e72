import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { maySeeOld, roomIn } from './availability.ts'
import type { Model, QueueModel } from './model.ts'

/** So many takes of what was pushed after an entry was due may come before some of its items have joined. */
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
  if (times > PASSED_MAX) {
    const what = `${queue}: ${first} was passed over ${times} times`
    model.violated('what is due does not starve', what)
  }
}
