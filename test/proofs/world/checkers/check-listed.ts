import type { Answer } from './answer.ts'
import { maySeeOld } from './may-see-old.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

/** A page shows what waits for its time, in the order in which it will join, and leaves out nothing. */
export function checkListed({ model, operation, value, say }: Answer<'scheduled'>): void {
  const { command, startedAtCommit } = operation
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = command.request
  const { scheduled } = model.queue(command.queue)
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
    if (before !== undefined && isBefore(one, before)) {
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
      if (after !== undefined && !isBefore(after, one)) continue
      if (end === undefined || isBefore(one, end)) say('a list leaves out nothing', one.id)
    }
  }
}
