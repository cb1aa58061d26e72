// What becomes of each item of a batch, once its handler has ended. Pure.

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
  /** Those of them that failed and come later; the handler has not tried the others. */
  readonly failed: readonly Item[]
}

/**
 * What the handler gets together. An item that comes back is by itself, whoever else is in its lock: its
 * next failure is its own.
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
 * An item that was dead-lettered is dead whatever else the handler said of it. An item that failed too
 * often dies as well: the queue may have a limit of its own, but this one needs no configured queue. A
 * handler that threw says nothing of one item among several: none of them dies of that.
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
  const isBlamed = (id: string): boolean =>
    ended.kind !== 'given-up' && (failed.has(id) || items.length === 1)
  const bury = (id: string, reason: string) => dead.set(reason, [...(dead.get(reason) ?? []), id])
  for (const item of items) {
    const { id, deliveries } = item
    const reason = marks.dead.get(id)
    if (reason !== undefined) bury(id, reason)
    else if (ended.kind === 'returned' && !failed.has(id)) done.push(id)
    else if (isBlamed(id) && deliveries >= deliveriesMax) bury(id, TOO_MANY_DELIVERIES)
    else back.push(item)
  }
  return { done, dead, back, failed: ended.kind === 'given-up' ? [] : back }
}

export const isAllDone = ({ dead, back }: Verdicts): boolean => dead.size === 0 && back.length === 0

/** What became of all parts of a lot. */
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
 * An item may come back untried where batches are taken, because one before it failed. Where many queues are
 * worked, a stop whose grace is over takes it from its handler, and the item of another queue may kill the
 * process. Three consumers that restarted every second dead-lettered such items at two, three and four deliveries.
 */
const UNSETTLED_AMONG_OTHERS_MIN = 6

/**
 * Whether what came should not be tried again: it was delivered that often and never settled, because its
 * consumers died. Only an item that comes alone can be to blame.
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
