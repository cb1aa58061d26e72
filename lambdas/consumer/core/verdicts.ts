// What becomes of each item of a batch, once its handler has ended. Pure.

import type { HandlerResult, Marks } from './handler.ts'
import type { Item } from './item.ts'
import { reasonAfter, TOO_MANY_DELIVERIES } from './thrown.ts'

export type Ended =
  | { readonly kind: 'returned'; readonly result: HandlerResult }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** Nobody can say that an item failed: the handler did not try it, or did not finish. */
  | { readonly kind: 'given-up' }

export type Verdicts = {
  readonly done: readonly string[]
  /** Ids by reason. */
  readonly dead: ReadonlyMap<string, readonly string[]>
  /** Items to hand out again. */
  readonly back: readonly Item[]
  /** Those of them that failed and come back later; the handler has not tried the others. */
  readonly failed: readonly Item[]
}

/**
 * Groups the items that the handler gets together. An item that came back goes alone, whatever else is in its lock,
 * so that its next failure concerns only itself.
 */
export function partsOf(items: readonly Item[]): readonly (readonly Item[])[] {
  const parts: Item[][] = []
  let isFresh = false
  for (const item of items) {
    const joins = isFresh && item.deliveries === 1
    if (joins) parts.at(-1)?.push(item)
    else parts.push([item])
    isFresh = item.deliveries === 1
  }
  return parts
}

/**
 * An item that the handler dead-lettered is dead, whatever else the handler said about it. An item that failed too
 * often dies as well: the queue may have its own limit, but this one needs no configured queue. If a handler with
 * several items throws, that says nothing about any single one, so none of them dies.
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
  // Of several items, the error may be another's.
  const isItsOwn = ended.kind === 'threw' && items.length === 1
  const atTheEnd = isItsOwn ? reasonAfter(ended.error) : TOO_MANY_DELIVERIES
  const isBlamed = (id: string): boolean =>
    ended.kind !== 'given-up' && (failed.has(id) || items.length === 1)
  const bury = (id: string, reason: string) => dead.set(reason, [...(dead.get(reason) ?? []), id])
  for (const item of items) {
    const { id, deliveries } = item
    const reason = marks.dead.get(id)
    if (reason !== undefined) bury(id, reason)
    else if (ended.kind === 'returned' && !failed.has(id)) done.push(id)
    else if (isBlamed(id) && deliveries >= deliveriesMax) bury(id, atTheEnd)
    else back.push(item)
  }
  return { done, dead, back, failed: ended.kind === 'given-up' ? [] : back }
}

export const isAllDone = ({ dead, back }: Verdicts): boolean => dead.size === 0 && back.length === 0

/** Joins the verdicts on all parts of a lot. */
export function together(parts: readonly Verdicts[]): Verdicts {
  const dead = new Map<string, readonly string[]>()
  for (const [reason, ids] of parts.flatMap((part) => [...part.dead])) {
    dead.set(reason, [...(dead.get(reason) ?? []), ...ids])
  }
  return {
    done: parts.flatMap(({ done }) => done),
    dead,
    back: parts.flatMap(({ back }) => back),
    failed: parts.flatMap(({ failed }) => failed),
  }
}

/**
 * With batches, an item may come back untried because one before it failed. With many queues, a stop whose grace is
 * over takes it from its handler, or the item of another queue kills the process. Three consumers that restarted
 * every second dead-lettered such items at two, three and four deliveries.
 */
const UNSETTLED_AMONG_OTHERS_MIN = 6

/**
 * Whether the item should not be tried again: it was delivered this often and never settled, because its consumers
 * died. Only an item that comes alone can be to blame.
 */
export function isOverdue(
  items: readonly Item[],
  {
    isAmongOthers,
    deliveriesMax,
  }: { readonly isAmongOthers: boolean; readonly deliveriesMax: number },
): boolean {
  const most = isAmongOthers
    ? Math.max(UNSETTLED_AMONG_OTHERS_MIN, deliveriesMax * 2)
    : deliveriesMax
  return items.length === 1 && items.every(({ deliveries }) => deliveries > most)
}
