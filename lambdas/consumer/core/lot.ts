// The items of one lock: the handler gets them, then we settle each according to its outcome.

import type { HeldLock } from '../../foundation/shared/hold-lock.ts'
import { isDeadLetterQueue } from '../../foundation/shared/queue-id.ts'
import { shortenedReason } from '../../foundation/shared/reason.ts'
import { GivenUp, type HandlerContext, type HandlerResult } from './handler.ts'
import { insist } from './insist.ts'
import type { Item } from './item.ts'
import { END_MS, mayTakeMore } from './pace.ts'
import { isLockLost } from './refusal.ts'
import type { Run } from './run.ts'
import { passesBy } from './settings.ts'
import { readable, TOO_MANY_DELIVERIES } from './thrown.ts'
import { type Ended, isOverdue, partsOf, together, type Verdicts, verdictsOf } from './verdicts.ts'

export type Lot = { readonly items: readonly Item[]; readonly lock: HeldLock }

/** A mistake in the handler. We cannot know what it meant, so its whole batch has failed. */
class UnknownItem extends Error {
  constructor(id: string) {
    super(`Cannot settle item "${id}" because it is not one of this batch`)
    this.name = 'UnknownItem'
  }
}

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
  for (const part of partsOf(items)) {
    // If order matters, nothing behind a failed item goes on.
    const isHeldUp = !passesBy(settings) && verdicts.some(({ back }) => back.length > 0)
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
  const signal = AbortSignal.any([lock.lost, timeOver])
  const context: HandlerContext = {
    queue,
    lock: { id: lock.id },
    signal,
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
    report({ kind: 'handler-late', items })
  }
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
    for (const step of steps) await insist(edge, step, run.timeOver)
    if (back.length === 0) lot.lock.letGo()
    return true
  } catch (error) {
    lot.lock.letGo()
    if (!isLockLost(error)) throw error
    report({ kind: 'lock-lost', items: lot.items, error })
    return false
  }
}
