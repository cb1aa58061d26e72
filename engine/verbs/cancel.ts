// Cancel; and how a call by ids comes to its answers, which a move and a purge by ids share. An id says where its item
// is. The item waits, or a lock holds it, or it is gone; only a record that this call has read, or its own write, says
// which. Expired locks that hold some of the items end first, as for a pop. Each write takes as many items as one can,
// on condition that no claim has come past them, and the loop goes on with those that have no answer yet.

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import type { Guards } from '../core/fence.ts'
import { doneLocks, endThose, foldDone, hasAny } from '../core/locks.ts'
import {
  forOneWriteOf,
  idsByForm,
  inFlightAllowed,
  type NamedItem,
  namedItems,
  overWith,
  standingOfEach,
  stretchesOfNamed,
  takeOut,
  tooManyGaps,
} from '../core/named-items.ts'
import type { QueueRecord } from '../core/record.ts'
import { attempts, leaveDryQuietly, leaveDryUnseen } from '../driver/attempts.ts'
import {
  again,
  answer,
  asStored,
  type Decision,
  done,
  type Outcome,
  refuse,
  type View,
  writeFirst,
} from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { cancelScheduled } from './take-later.ts'

export type CancelResult = {
  readonly id: string
  readonly result: 'cancelled' | 'locked' | 'gone'
}

export interface CancellingVerbs {
  /** Removes items that wait or are scheduled; locked items stay. The results have the order of the ids. */
  cancel(queue: string, ids: readonly string[]): Promise<readonly CancelResult[]>
}

/**
 * Removes waiting items for good, with one write that needs nothing but the record. Another write removes scheduled
 * ones.
 */
export async function cancel(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<CancelResult[]> {
  checkQueueId(queue)
  const { waiting, scheduled } = idsByForm(ids)
  const results = new Map<string, CancelResult['result']>()
  const isCancelled = await cancelScheduled(engine, queue, scheduled)
  for (const id of isCancelled) results.set(id, 'cancelled')
  const others = await cancelWaiting(engine, queue, waiting).catch((error: unknown) => {
    throw isCancelled.size > 0 ? QueueError.partly(error) : error
  })
  for (const [index, id] of waiting.entries()) results.set(id, others[index] ?? 'gone')
  return ids.map((id) => ({ id, result: results.get(id) ?? 'gone' }))
}

async function cancelWaiting(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<CancelResult['result'][]> {
  if (ids.length === 0) return []
  return eachById<'cancelled'>(engine, queue, ids, (taking) => {
    const { record, view } = taking
    const { nowMs } = view
    const items = forOneWriteOf(record, taking.waiting)
    const draft = takeOut(record, stretchesOfNamed(items), nowMs)
    const gaps = gapsOf(engine, record, draft, nowMs)
    if ('instead' in gaps) return gaps.instead
    const setsDry = engine.events && view.losses === 0
    const cancelled = new Map(items.map(({ id }) => [id, 'cancelled'] as const))
    return {
      kind: 'write',
      change: engine.records.change(record, draft, { nowMs, guards: gaps.guards, setsDry }),
      landed: (after) => taking.taken(cancelled, after),
    }
  })
}

/** It competes with fenced pops and claims; each lost race costs a round trip and a pause. */
const ATTEMPTS_MAX = 24
const HOLDS_FROM = 4
/** Writes that end or fold locks first: a hundred items lie in a hundred locks at the most. */
const EXTRAS_MAX = 12

export const byIdCourse = {
  // We must not conclude from memory that an item is locked or gone.
  from: 'store',
  attemptsMax: ATTEMPTS_MAX,
  extrasMax: EXTRAS_MAX,
  holdsFrom: HOLDS_FROM,
} as const

/** What a verb gets to deal with items that wait, one write's worth at a time. */
type Taking<R> = {
  readonly record: QueueRecord
  /** In the order of pops. */
  readonly waiting: readonly NamedItem[]
  readonly view: View
  /** Call this after a write that took some of them out, with the record it left; a transaction does not return it. */
  readonly taken: (
    results: ReadonlyMap<string, R>,
    after: QueueRecord | undefined,
  ) => Promise<Outcome<void>>
  /** Call this with results that needed no write. */
  readonly known: (results: ReadonlyMap<string, R>) => void
}

/**
 * Asks a verb what to do with the items that wait, until each id has its answer; returns the answers in the order of
 * the ids. Each answer follows from the record as this call read it, or from its own write.
 */
export async function eachById<R>(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  take: (taking: Taking<R>) => Decision<void>,
): Promise<(R | 'locked' | 'gone')[]> {
  checkQueueId(queue)
  const named = namedItems(ids)
  const results = new Map<string, R | 'locked' | 'gone'>()
  let hasTaken = false
  const leftOf = () => named.filter(({ id }) => !results.has(id))
  const known: Taking<R>['known'] = (some) => {
    for (const [id, result] of some) results.set(id, result)
  }
  const taken: Taking<R>['taken'] = async (some, after) => {
    hasTaken = true
    known(some)
    await (after === undefined ? leaveDryUnseen(engine, queue) : leaveDryQuietly(engine, after))
    return leftOf().length === 0
      ? done(undefined)
      : again(asStored(await engine.records.read(queue)))
  }
  await attempts<void>(engine, queue, byIdCourse, (view) => {
    const { record, nowMs } = view
    if (record === undefined) return answer(undefined)
    const left = leftOf()
    const first = endFirst(engine, record, left, nowMs)
    if (first !== undefined) return first
    const { waiting, others } = standingOfEach(record, left, nowMs)
    for (const [id, result] of others) results.set(id, result)
    return waiting.length === 0 ? answer(undefined) : take({ record, waiting, view, taken, known })
  }).catch((error: unknown) => {
    throw hasTaken ? QueueError.partly(error) : error
  })
  return ids.map((id) => results.get(id) ?? 'gone')
}

/** First ends the expired locks that hold these items, as a pop would. */
function endFirst(
  engine: Engine,
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): Decision<never> | undefined {
  const isOver = overWith(named, nowMs)
  if (!hasAny(record, isOver)) return undefined
  const change = engine.records.change(record, endThose(record, isOver, nowMs), { nowMs })
  return writeFirst(change)
}

/** The guards of a write that takes items out; or what to do instead, if its gaps would make the record too heavy. */
export function gapsOf(
  engine: Engine,
  record: QueueRecord,
  draft: QueueRecord,
  nowMs: number,
): { readonly guards: Guards } | { readonly instead: Decision<never> } {
  const guards = inFlightAllowed(record, draft)
  if (guards !== undefined) return { guards }
  if (doneLocks(record) === 0) return { instead: refuse(tooManyGaps(record, draft)) }
  // Acknowledged items weigh on the record until we fold them.
  const change = engine.records.change(record, foldDone(record, nowMs), { nowMs })
  return { instead: writeFirst(change) }
}
