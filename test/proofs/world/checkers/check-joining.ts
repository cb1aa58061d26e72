import { isCrowded } from '../../../../lambdas/engine/core/joinable.ts'
import { latestFor } from './expiry.ts'
import type { Model, QueueModel } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

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
