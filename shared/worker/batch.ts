// One popped batch, from its handler to its answers: the handler gets the items of a lock part by part, and each item
// is then acknowledged, dead-lettered, or left in the lock to come again.
//
//   handed out ──handler returned──▶ done, or again, or dead, as it said
//       └──threw──▶ again, or dead if it alone is to blame and failed too often
//       └──stopped, lost its lock, not tried──▶ again, and nothing is said against it
//
// If the lock is lost while we settle, its items come again, but for those that a request has settled already.

import { isDeadLetterQueue } from '../bounds.ts'
import type { HeldLock } from '../hold-lock.ts'
import { shortenedReason } from '../wire.ts'
import { END_MS, insist, isLockLost, mayTakeMore } from './retries.ts'
import {
  GivenUp,
  type HandlerContext,
  type HandlerResult,
  type Item,
  type Marks,
  passesBy,
  type Run,
} from './run.ts'

/** The items of one lock. */
export type Lot = { readonly items: readonly Item[]; readonly lock: HeldLock }

export type Verdicts = {
  readonly done: readonly string[]
  /** Ids by reason. */
  readonly dead: ReadonlyMap<string, readonly string[]>
  /** Items to hand out again. */
  readonly back: readonly Item[]
  /** Those of them that failed and come back later; the handler has not tried the others. */
  readonly failed: readonly Item[]
}

export const isAllDone = ({ dead, back }: Verdicts): boolean => dead.size === 0 && back.length === 0

/**
 * Calls the handler and waits for it, however long it takes. We do not give up on a handler that runs into
 * the time limit of its function: an answer would freeze it in the middle, to wake up beside the next
 * event's, and releasing its items would hand them out while it still works on them. So Lambda ends the
 * process, then the lock ends by itself, and the items come back once nobody works on them.
 */
export async function workLot(run: Run, { items, lock }: Lot): Promise<Verdicts> {
  const { settings, queue } = run
  const { batchSize } = settings
  const deliveriesMax = isDeadLetterQueue(queue) ? Number.POSITIVE_INFINITY : settings.deliveriesMax
  const isAmongOthers = batchSize > 1 || run.comeBack !== undefined
  if (isOverdue(items, { isAmongOthers, deliveriesMax })) {
    const ids = items.map(({ id }) => id)
    return { done: [], dead: new Map([[TOO_MANY_DELIVERIES, ids]]), back: [], failed: [] }
  }
  const verdicts: Verdicts[] = []
  for (const part of partsOf(items, settings.oneByOne)) {
    // If order matters, nothing behind a failed item goes on.
    const inOrder = !settings.oneByOne && !passesBy(settings)
    const isHeldUp = inOrder && verdicts.some(({ back }) => back.length > 0)
    const mayBegin =
      verdicts.length === 0 ||
      (!isHeldUp && !lock.lost.aborted && mayTakeMore(run.remainingMs(), run.longestMs))
    const marks = { dead: new Map<string, string>(), back: new Set<string>() }
    const ended: Ended = mayBegin
      ? await callHandler(run, { items: part, lock }, marks)
      : { kind: 'given-up' }
    verdicts.push(verdictsOf(part, marks, ended, deliveriesMax))
  }
  return together(verdicts)
}

type Ended =
  | { readonly kind: 'returned'; readonly result: HandlerResult }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** Nobody can say that an item failed: the handler did not try it, or did not finish. */
  | { readonly kind: 'given-up' }

async function callHandler(
  run: Run,
  { items, lock }: Lot,
  marks: { readonly dead: Map<string, string>; readonly back: Set<string> },
): Promise<Ended> {
  const { queue, handler, timeOver, edge } = run
  const { clock, report } = edge
  const known = new Set(items.map(({ id }) => id))
  const knownId = (item: Item | string): string => {
    const id = typeof item === 'string' ? item : item.id
    if (known.has(id)) return id
    throw new UnknownItem(id)
  }
  // `AbortSignal.any` would not do: older Nodes keep each such signal for as long as its sources live.
  const inVain = new AbortController()
  const giveUp = () => inVain.abort(lock.lost.reason ?? timeOver.reason)
  const context: HandlerContext = {
    queue,
    lock: { id: lock.id },
    signal: inVain.signal,
    remainingMs: () => Math.max(0, run.remainingMs() - END_MS),
    deadLetter(item, reason) {
      if (isDeadLetterQueue(queue)) {
        throw new TypeError(
          `Cannot dead-letter an item of "${queue}" because a dead-letter queue has none of its own`,
        )
      }
      marks.dead.set(knownId(item), shortenedReason(reason))
    },
    release: (item) => void marks.back.add(knownId(item)),
  }
  const late = () => {
    // The lock outlives the process already; nothing should lengthen it further.
    lock.letGo()
    giveUp()
    report({ kind: 'handler-late', items })
  }
  lock.lost.addEventListener('abort', giveUp)
  timeOver.addEventListener('abort', late)
  if (timeOver.aborted) late()
  const startedMs = clock.nowMs()
  run.counts.batches += 1
  try {
    const result = await (async () => handler(items, context))()
    return { kind: 'returned', result: checkedResult(result, known) }
  } catch (thrown) {
    const error = readable(thrown)
    if (error instanceof GivenUp) return { kind: 'given-up' }
    report({ kind: 'handler', items, error })
    return { kind: 'threw', error }
  } finally {
    lock.lost.removeEventListener('abort', giveUp)
    timeOver.removeEventListener('abort', late)
    run.longestMs = Math.max(run.longestMs, clock.nowMs() - startedMs)
  }
}

/**
 * What names items in any way but this one fails the batch: acknowledging a failed item would lose it. No compiler
 * checks a handler in JavaScript, which may return the list itself, or what a function on SQS returns.
 */
function checkedResult(result: unknown, known: ReadonlySet<string>): HandlerResult {
  if (typeof result !== 'object' || result === null) return undefined
  const isKnown = (one: unknown) =>
    known.has(one as string) || known.has((one as Item | null)?.id ?? '')
  const namesItems = Array.isArray(result) ? result.some(isKnown) : 'batchItemFailures' in result
  if (namesItems) {
    throw new TypeError('To say which items failed, a handler returns { failed: [id, …] }')
  }
  if (!('failed' in result)) return undefined
  const { failed } = result
  if (!Array.isArray(failed)) {
    throw new TypeError('What a handler returns as `failed` must be a list of item ids')
  }
  for (const id of failed) if (!known.has(id)) throw new UnknownItem(String(id))
  return { failed }
}

/** A mistake in the handler. We cannot know what it meant, so its whole batch has failed. */
class UnknownItem extends Error {
  constructor(id: string) {
    super(`Cannot settle item "${id}" because it is not one of this batch`)
    this.name = 'UnknownItem'
  }
}

/** As far as a log shows them. */
const CAUSES_READ = 4

/**
 * The value itself, or an error in its place if what we report of it cannot be read. A handler may throw anything: in
 * JavaScript even a Proxy that throws wherever somebody looks at it.
 */
export function readable(thrown: unknown): unknown {
  try {
    for (
      let one = thrown, n = 0;
      one instanceof Error && n < CAUSES_READ;
      one = one.cause, n += 1
    ) {
      void [one.name, one.message, one.stack]
    }
    return thrown
  } catch {
    return new Error('The handler threw a value that throws when it is read')
  }
}

/**
 * Acknowledges finished items and dead-letters dead ones. Items that should come again stay in the lock, for
 * the caller to release. Returns false if the lock was lost: then all of its items
 * come again.
 */
export async function settle(run: Run, lot: Lot, { done, dead, back }: Verdicts): Promise<boolean> {
  const { queue, edge, counts } = run
  const { queues, report } = edge
  const lockId = lot.lock.id
  const steps: (() => Promise<unknown>)[] = []
  const part = (ids: readonly string[]) => (ids.length === lot.items.length ? {} : { ids })
  // Settle finished items first: nobody should do them again.
  if (done.length > 0) {
    steps.push(async () => {
      await queues.acknowledge(queue, { lockId, ...part(done) })
      counts.acknowledged += done.length
    })
  }
  for (const [reason, ids] of dead) {
    steps.push(async () => {
      await queues.deadLetter(queue, { lockId, reason, ...part(ids) })
      counts.deadLettered += ids.length
    })
  }
  try {
    for (const step of steps) await insist(run, step)
    if (back.length === 0) lot.lock.letGo()
    return true
  } catch (error) {
    lot.lock.letGo()
    if (!isLockLost(error)) throw error
    report({ kind: 'lock-lost', items: lot.items, error })
    return false
  }
}

/**
 * Groups the items that the handler gets together. An item that came back goes alone, whatever else is in its lock,
 * so that its next failure concerns only itself.
 */
export function partsOf(items: readonly Item[], oneByOne = false): readonly (readonly Item[])[] {
  const parts: Item[][] = []
  let isFresh = false
  for (const item of items) {
    const joins = !oneByOne && isFresh && item.deliveries === 1
    if (joins) parts.at(-1)?.push(item)
    else parts.push([item])
    isFresh = item.deliveries === 1
  }
  return parts
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

/** The reason that the engine gives if the queue itself has `max_deliveries`. */
const TOO_MANY_DELIVERIES = 'max_deliveries'

/** The same with the error of the last delivery, which nobody else will keep. */
function reasonAfter(thrown: unknown): string {
  const text = textOf(thrown)
  return text === '' ? TOO_MANY_DELIVERIES : shortenedReason(`${TOO_MANY_DELIVERIES}: ${text}`)
}

function textOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : ''
  return String(thrown.message || thrown.name)
}

/** Joins the verdicts on all parts of a lot. */
function together(parts: readonly Verdicts[]): Verdicts {
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
