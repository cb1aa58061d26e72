import { decodeItem, type Item, isReference } from '../../../../engine/core/item.ts'
import { decodeScheduled, indexesLeft, scheduledId } from '../../../../engine/core/later.ts'
import type { ItemRecord } from './ledger.ts'
import type { Model } from './model.ts'
import { batchEntries } from './rows.ts'

/** One item that waits, or waited, for its time. */
export type ScheduledItem = {
  readonly id: string
  readonly due: number
  readonly priority: number
  /** Of two that are due in one second, the lesser came first. */
  readonly order: number
  readonly item: Item
  readonly record: ItemRecord
  readonly sinceCommit: number
  /** A move is behind all that had come when it was called; what came meanwhile may be before it or behind. */
  readonly behindCommit: number
  untilCommit: number | undefined
}

/** What one entry stands for: an item, or those of a batch. */
export type ScheduledGroup = {
  readonly due: number
  readonly priority: number
  readonly items: Map<number | undefined, ScheduledItem>
  /** The sort key of its row; none in the record itself. */
  row: string | undefined
  text: string
}

type GroupChange = { lost?: string; gained?: string; row?: string | undefined; isNew?: boolean }

/** What a queue's record and the rows of its era hold for later, as the plain model knows it. */
export class ScheduledItems {
  /** Those that are there, by what their ids begin with. */
  readonly groups = new Map<string, ScheduledGroup>()
  /** All there ever were. */
  readonly byId = new Map<string, ScheduledItem>()
  /** What the request under way has done. */
  readonly changes = new Map<string, GroupChange>()
  /** What it brought to lanes, by the ids that it had before. */
  readonly joining = new Map<string, { readonly lane: number; readonly item: Item }>()
  count = 0
  /** How many have come. */
  orders = 0
  /** The first entry that is due, how many items of it are left, how often later ones were taken since, and since when. */
  passed = { name: '', left: 0, times: 0, sinceMs: 0 }
  /** The last commit that took any out, or moved them. A process may join by what it saw then. */
  changedAtCommit = 0
  /** As the record counts them. */
  takings = 0

  isThere(id: string): boolean {
    return this.byId.has(id) && this.byId.get(id)?.untilCommit === undefined
  }
}

/** A new entry, in the order in which its items will join. */
export function groupOf(model: Model, queue: string, text: string, row: string | undefined) {
  const entry = decodeScheduled(text)
  const { scheduled } = model.queue(queue)
  const stored = isReference(entry.entry) ? batchEntries(model, queue, entry.entry) : [entry.entry]
  if (stored === undefined) {
    model.violated('every pointer has its object', `a scheduled batch is not there: ${text}`)
    return undefined
  }
  const { command, startedAtCommit = 0, startedMs = 0 } = model.operation ?? {}
  // A move may not see yet what a transaction wrote before it.
  const behindMove = model.world.store.settledAtMs > startedMs ? 0 : startedAtCommit
  const behindCommit = command?.verb === 'move' ? behindMove : model.commits
  const group: ScheduledGroup = { ...entry, items: new Map(), row, text }
  for (const index of indexesLeft(entry)) {
    const item = decodeItem(stored[index ?? 0] as string)
    const record = model.ledger.item(item.text)
    const id = scheduledId({ ...entry, index })
    if (record === undefined || scheduled.byId.has(id)) {
      model.violated('only what was pushed is scheduled, under its own id', `${id}: ${item.text}`)
      continue
    }
    const { due, priority } = entry
    scheduled.orders += 1
    const since = { sinceCommit: model.commits, behindCommit, untilCommit: undefined }
    const one = { id, due, priority, order: scheduled.orders, item, record, ...since }
    group.items.set(index, one)
    scheduled.byId.set(id, one)
  }
  scheduled.groups.set(nameOf(text), group)
  scheduled.count += group.items.size
  return group
}

/** `<due>.<seals>.<random>`: what stays as it is. */
export function nameOf(text: string): string {
  const second = text.indexOf('.', text.indexOf('.') + 1)
  return text.slice(0, text.indexOf('.', second + 1))
}

/** Whether the first of two is certainly to join first. */
export const isBefore = (a: ScheduledItem, b: ScheduledItem): boolean =>
  a.due === b.due ? a.order < b.order && a.sinceCommit <= b.behindCommit : a.due < b.due
