import { maySeeOld } from './availability.ts'
import type { Answer } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'
import type { Place } from './snapshot.ts'

/** Every item shown was pushed, is where its id says, and comes in the order of pops. */
export function checkBrowsed({ model, command, value, say }: Answer<'browse'>): void {
  const isNewest = command.request.order === 'newest'
  let last: Place | undefined
  for (const { id, text, priority } of value.items) {
    const place = model.place(command.queue, id)
    if (place?.item.text !== text || place.log.priority !== priority) {
      say('nothing is shown that was not pushed', `${text} as ${id}`)
      return
    }
    const after = last && (priority - last.log.priority || place.sequence - last.sequence)
    if (after !== undefined && !(isNewest ? after < 0 : after > 0)) {
      say('items are shown in the order of pops', `${id}`)
    }
    last = place
  }
}

/** A consistent answer's parts belong together. */
export function checkInspected({ command, value: state, say }: Answer<'inspect'>): void {
  const inLanes = state.lanes.reduce((sum, { count }) => sum + count, 0)
  if (state.queue !== command.queue) say('inspect answers its queue', state.queue)
  const { lockedCount, waitingCount } = state
  if (inLanes !== state.count || lockedCount + waitingCount > state.count) {
    const parts = `${inLanes} in lanes, ${lockedCount} locked, ${waitingCount} waiting`
    say('counts belong together', `${state.count} in all, ${parts}`)
  }
}

/** A page shows what waits for its time, in the order in which it will join, and leaves out nothing. */
export function checkListed(answer: Answer<'scheduled'>): void {
  const { model, operation, command, queueModel, value, say } = answer
  const { startedAtCommit } = operation
  const { scheduled, isWide } = queueModel
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = command.request
  // Where lanes may be lacking, a second has an order only within a priority.
  const comesBefore = (a: ScheduledItem, b: ScheduledItem): boolean =>
    isBefore(a, b) && !(isWide && a.due === b.due && a.priority !== b.priority)
  const shown: ScheduledItem[] = []
  for (const { id, text, priority, dueMs, pushedAtMs } of value.items) {
    const one = scheduled.byId.get(id)
    const isAsIs =
      one !== undefined &&
      one.item.text === text &&
      one.priority === priority &&
      one.item.pushedAtMs === pushedAtMs &&
      1_000 * one.due === dueMs
    if (!isAsIs) {
      say('nothing is shown that was not pushed', `${text} as ${id}`)
      return
    }
    if (dueMs < fromMs || dueMs > toMs) say('a list shows what was asked for', id)
    if (shown.includes(one)) say('a list shows each item once', id)
    const before = shown.at(-1)
    if (before !== undefined && comesBefore(one, before) && wereTogether(one, before)) {
      say('what is scheduled is shown in its order', `${before.id}, ${id}`)
    }
    shown.push(one)
  }
  model.world.statistics.count('path listed while scheduled', shown.length)
  if (maySeeOld(model, operation)) return
  for (const { id, untilCommit = startedAtCommit } of shown) {
    if (untilCommit < startedAtCommit) say('what is shown was there', id)
  }
  const after = scheduled.byId.get(command.afterId ?? '')
  const end = value.cursor === undefined ? undefined : shown.at(-1)
  const ids = new Set(value.items.map(({ id }) => id))
  for (const { due, items } of scheduled.groups.values()) {
    if (1_000 * due < fromMs || 1_000 * due > toMs) continue
    for (const one of items.values()) {
      if (one.sinceCommit > startedAtCommit || ids.has(one.id)) continue
      if (after !== undefined && !comesBefore(after, one)) continue
      if (end === undefined || comesBefore(one, end)) say('a list leaves out nothing', one.id)
    }
  }
}

/**
 * A list reads the record and then the rows. If a move comes in between, it may show an item at both its places: one
 * that has left, and one that came only then. These two have no order.
 */
const wereTogether = ({ untilCommit }: ScheduledItem, { sinceCommit }: ScheduledItem): boolean =>
  untilCommit === undefined || sinceCommit < untilCommit
