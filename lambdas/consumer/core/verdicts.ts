// What becomes of each item of a batch, once its handler has ended. Pure.

import { shortenedReason } from '../../foundation/shared/reason.ts'
import type { HandlerResult, Marks } from './handler.ts'
import type { Item } from './item.ts'

/** As the engine calls it where the queue itself has `max_deliveries`. */
export const TOO_MANY_DELIVERIES = 'max_deliveries'

export type Ended =
  | { readonly kind: 'returned'; readonly result: HandlerResult }
  | { readonly kind: 'threw' }
  /** Nobody can say that an item failed: it was not tried, or not to its end. */
  | { readonly kind: 'given-up' }

export type Verdicts = {
  readonly done: readonly string[]
  /** Ids by the reason. */
  readonly dead: ReadonlyMap<string, readonly string[]>
  /** To be handed out again. */
  readonly back: readonly Item[]
}

/**
 * An item that was dead-lettered is dead whatever else the handler said of it. An item that failed too
 * often dies as well: the queue may have a limit of its own, but this one needs no configured queue.
 */
export function verdictsOf(
  items: readonly Item[],
  marks: Marks,
  ended: Ended,
  deliveriesMax: number,
): Verdicts {
  const failed = new Set(marks.back)
  if (ended.kind === 'returned') for (const id of ended.result?.failed ?? []) failed.add(id)
  const done: string[] = []
  const back: Item[] = []
  const dead = new Map<string, string[]>()
  const bury = (id: string, reason: string) => dead.set(reason, [...(dead.get(reason) ?? []), id])
  for (const item of items) {
    const { id, deliveries } = item
    const reason = marks.dead.get(id)
    if (reason !== undefined) bury(id, shortenedReason(reason))
    else if (ended.kind === 'returned' && !failed.has(id)) done.push(id)
    else if (ended.kind !== 'given-up' && deliveries >= deliveriesMax) bury(id, TOO_MANY_DELIVERIES)
    else back.push(item)
  }
  return { done, dead, back }
}

export const isAllDone = ({ dead, back }: Verdicts): boolean => dead.size === 0 && back.length === 0

/**
 * Items that should not be tried again: they were delivered that often and never settled, because their
 * consumers died. Perhaps another item of the batch was to blame; but an item that comes a second time
 * comes alone, so from then on we know.
 */
export function overdue(
  items: readonly Item[],
  { batchSize, deliveriesMax }: { readonly batchSize: number; readonly deliveriesMax: number },
): readonly Item[] {
  const most = batchSize > 1 ? Math.max(2, deliveriesMax) : deliveriesMax
  return items.filter(({ deliveries }) => deliveries > most)
}
