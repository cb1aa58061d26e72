import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import { maySeeOld } from './availability.ts'
import type { Answer } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

/** Every item shown was pushed, is where its id says, and comes in the order of pops. */
export function checkBrowsed({ model, operation, value, say }: Answer<'browse'>): void {
  const { command, startedAtCommit } = operation
  const isNewest = command.request.order === 'newest'
  let lastPriority = isNewest ? Number.POSITIVE_INFINITY : -1
  let lastSequence = isNewest ? Number.POSITIVE_INFINITY : -1
  for (const { id, text, priority } of value.items) {
    const place = parseItemId(id)
    const known = place && model.log(command.queue, place.epoch, place.priority)
    const item = place && known?.places[place.sequence]
    if (place === undefined || item?.item.text !== text) {
      say('nothing is shown that was not pushed', `${text} as ${id}`)
      return
    }
    const isAfter =
      priority > lastPriority || (priority === lastPriority && place.sequence > lastSequence)
    const isSame = priority === lastPriority && place.sequence === lastSequence
    if (isSame || isAfter === isNewest) say('items are shown in the order of pops', `${id}`)
    lastPriority = priority
    lastSequence = place.sequence
    const { fate, settledAtCommit } = item.record
    if (fate !== undefined && (settledAtCommit ?? 0) <= startedAtCommit) {
      model.world.statistics.count('browsed what had just left')
    }
  }
}

/** A consistent answer's parts belong together. */
export function checkInspected({ operation, value: state, say }: Answer<'inspect'>): void {
  const inLanes = state.lanes.reduce((sum, { count }) => sum + count, 0)
  if (state.queue !== operation.command.queue) say('inspect answers its queue', state.queue)
  const { lockedCount, waitingCount } = state
  if (inLanes !== state.count || lockedCount + waitingCount > state.count) {
    say(
      'counts belong together',
      `${state.count} in all, ${inLanes} in lanes, ${lockedCount} locked, ${waitingCount} waiting`,
    )
  }
}

/** A page shows what waits for its time, in the order in which it will join, and leaves out nothing. */
export function checkListed({ model, operation, value, say }: Answer<'scheduled'>): void {
  const { command, startedAtCommit } = operation
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = command.request
  const { scheduled, isWide } = model.queue(command.queue)
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
