// The life of a lock
//   live       made by a pop with acknowledgement; `expiresAtMs` is in the future
//   done       acknowledged beside the fence: `expiresAtMs` is 0; the next fenced write folds it
//   expired    its time is over and nobody has written so yet
//   ended      gone from the record; the last 16 are remembered with how they ended
// live → done → ended (acknowledged), live → ended (any), live → expired → ended (expired, purged).
// A retry lock (`settling.ts`) lives in place of one that was released with a delay, and expires: no call can settle it.
// An acknowledgement passes, beside the fence, while the expiry is ahead; an extension beside it, and a fenced write that
// ends the lock, pass only on the expiry that they have seen. So whichever comes second finds that the first was there.

import { QueueError } from '../../shared/errors.ts'
import { parseItemId } from './keys.ts'
import { LOCK_LANES_PER_WRITE, LOCKS_PER_WRITE } from './limits.ts'
import {
  countOf,
  includes,
  intersect,
  normalised,
  type Range,
  type Ranges,
  subtract,
} from './ranges.ts'
import {
  type Ending,
  isDone,
  isExpired,
  isLive,
  itemsIn,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
  unsettledIn,
} from './record.ts'
import {
  type Again,
  bury,
  comeBackLater,
  giveBack,
  inRetry,
  isConsumers,
  isRetry,
  settle,
} from './settling.ts'

/** Ended locks the record remembers, so that a repeated acknowledge gets its answer again. */
export const ENDED_KEPT = 16

/** Ends a lock under the fence; what happens to its items depends on how. */
export function endLock(
  record: QueueRecord,
  lockId: string,
  ending: Ending,
  nowMs: number,
  reason = '',
  /** For a release with a delay: when the items come back. */
  again?: Again,
): QueueRecord {
  const lock = record.locks.get(lockId)
  if (lock === undefined) return record
  const locks = new Map(record.locks)
  locks.delete(lockId)
  const released = { ...record, locks, lastEndedMs: nowMs }
  const ended = [...record.ended, { lockId, ending, items: itemsIn(lock.stretches) }]
  // No caller asks about a retry lock, so it must not push out one that a caller may ask about.
  const remembered = isRetry(lock) ? released : { ...released, ended: ended.slice(-ENDED_KEPT) }
  switch (ending) {
    case 'acknowledged':
      return settle(remembered, lock.stretches)
    case 'expired':
      return giveBack(remembered, lock.stretches)
    case 'released':
      if (again !== undefined) return comeBackLater(remembered, lock.stretches, again)
      return giveBack(remembered, lock.stretches)
    case 'dead-lettered':
      return bury(remembered, lock.stretches, reason)
    case 'purged':
      return remembered
    default:
      return ending satisfies never
  }
}

// One write ends as many locks as its expression has room for. Here they are chosen and ended.

type Chosen = (lock: Lock) => boolean

/**
 * The locks that one write may end, those that expired earliest first. An expression has room for a limited number
 * of locks and of lanes that they touch, but always for one lock.
 */
export function forOneWrite(record: QueueRecord, is: Chosen): string[] {
  const chosen: string[] = []
  const lanes = new Set<number>()
  // Ordered by expiry and id, not by place: a map comes back from DynamoDB in any order.
  const inOrder = [...record.locks]
    .filter(([, lock]) => is(lock))
    .sort(([a, one], [b, other]) => one.expiresAtMs - other.expiresAtMs || (a < b ? -1 : 1))
  for (const [lockId, lock] of inOrder) {
    if (chosen.length === LOCKS_PER_WRITE) break
    for (const { priority } of lock.stretches) lanes.add(priority)
    if (chosen.length > 0 && lanes.size > LOCK_LANES_PER_WRITE) break
    chosen.push(lockId)
  }
  return chosen
}

/** Folds acknowledged locks into heads and holes: as many as one write can. */
export function foldDone(record: QueueRecord, nowMs: number): QueueRecord {
  let next = record
  for (const lockId of forOneWrite(record, isDone)) {
    next = endLock(next, lockId, 'acknowledged', nowMs)
  }
  return next
}

/** Ends expired locks: as many as one write can. */
export const endExpired = (record: QueueRecord, nowMs: number): QueueRecord =>
  endThose(record, (lock) => isExpired(lock, nowMs), nowMs)

/** Ends locks as if their time were over: as many as one write can. */
export function endThose(record: QueueRecord, those: Chosen, nowMs: number): QueueRecord {
  let next = record
  for (const lockId of forOneWrite(record, those)) next = endLock(next, lockId, 'expired', nowMs)
  return next
}

export const hasAny = ({ locks }: QueueRecord, those: Chosen): boolean =>
  [...locks.values()].some(those)

/** The lock's time is over; or a consumer's run holds it, and no run is alive. */
export const isToEnd =
  (nowMs: number, consumersAreGone: boolean) =>
  (lock: Lock): boolean =>
    isExpired(lock, nowMs) || (consumersAreGone && !isDone(lock) && isConsumers(lock))

// How many locks are live, expired or acknowledged, and when the first one expires.

export function doneLocks(record: QueueRecord): number {
  let count = 0
  for (const lock of record.locks.values()) if (isDone(lock)) count += 1
  return count
}

export const expiredLocks = (record: QueueRecord, nowMs: number): Lock[] =>
  [...record.locks.values()].filter((lock) => isExpired(lock, nowMs))

export function liveLocks(record: QueueRecord, nowMs: number): [string, Lock][] {
  return [...record.locks].filter(([, lock]) => isLive(lock, nowMs))
}

/** Whether a consumer has items of this queue: some live lock is not a retry lock. */
const isHeld = (record: QueueRecord, nowMs: number): boolean =>
  liveLocks(record, nowMs).some(([, lock]) => !isRetry(lock))

/** The earliest time at which a lock that is not done ends by itself. */
export function earliestExpiryMs(record: QueueRecord): number | undefined {
  let earliest: number | undefined
  for (const lock of record.locks.values()) {
    if (isDone(lock)) continue
    if (earliest === undefined || lock.expiresAtMs < earliest) earliest = lock.expiresAtMs
  }
  return earliest
}

// What we answer a caller who names a lock.

type LockStanding =
  | { readonly kind: 'live'; readonly lock: Lock }
  /** Acknowledged, folded or not: repeating it gets the same answer. */
  | { readonly kind: 'acknowledged'; readonly items: number }
  | { readonly kind: 'refused'; readonly error: QueueError }

type LostCode = 'LOCK_EXPIRED' | 'INVALID_LOCK_ID' | 'LOCK_NOT_FOUND'

/** What the record says about a lock id. Acknowledge, extend and release all ask this first. */
export function standingOf(
  record: QueueRecord | undefined,
  lockId: string,
  nowMs: number,
  /** The field in which the caller named it. */
  field: 'lock_id' | 'acknowledge' = 'lock_id',
): LockStanding {
  const refused = (code: LostCode, reason: string): LockStanding => ({
    kind: 'refused',
    error: new QueueError(code, `Cannot settle lock "${lockId}" because ${reason}`, { field }),
  })
  // Even a caller who has read its id in the table cannot settle a retry lock.
  const lock = record?.locks.get(lockId)
  if (lock !== undefined && !isRetry(lock)) {
    if (isDone(lock)) return { kind: 'acknowledged', items: itemsIn(lock.stretches) }
    if (isLive(lock, nowMs)) return { kind: 'live', lock }
    return refused('LOCK_EXPIRED', ended.expired)
  }
  // The newest wins: an id is random, but a record outlives many locks.
  const remembered = record?.ended.findLast((past) => past.lockId === lockId)
  if (remembered !== undefined) {
    if (remembered.ending === 'acknowledged') {
      return { kind: 'acknowledged', items: remembered.items }
    }
    return refused('LOCK_EXPIRED', ended[remembered.ending])
  }
  return record !== undefined && isHeld(record, nowMs)
    ? refused('INVALID_LOCK_ID', 'the live lock of this queue is another one')
    : refused('LOCK_NOT_FOUND', 'no lock is live on this queue; it may have ended long ago')
}

const ended: Readonly<Record<Exclude<Ending, 'acknowledged'>, string>> = {
  expired: 'its time is over; its items are back in the queue',
  released: 'it was released; its items are in the queue',
  'dead-lettered': 'its items were moved to the dead-letter queue',
  purged: 'its items were purged',
}

/** A lock that was acknowledged has nothing left to extend or to settle otherwise. */
export const acknowledgedAlready = (verb: 'extend' | 'settle', lockId: string): QueueError =>
  new QueueError(
    'LOCK_EXPIRED',
    `Cannot ${verb} lock "${lockId}" because it was acknowledged already`,
    { field: 'lock_id' },
  )

// A call may end a part of a lock. The lock keeps its other items.

export type PartialEnding = Extract<Ending, 'acknowledged' | 'released' | 'dead-lettered'>

/** What becomes of a lock, or of some of its items. */
type Settlement = {
  readonly ending: PartialEnding
  /** Why they are dead-lettered. */
  readonly reason?: string
  /** For a release with a delay: when the items come back. */
  readonly again?: Again | undefined
}

/**
 * Ends a lock for some of its items; the rest stay locked. Ids say where their items are, so this
 * reads nothing. If a listed item is settled already, this counts as acknowledging it again; if it waits
 * for its retry, as releasing it with a delay again: the first answer may have been lost.
 */
export function endPart(
  record: QueueRecord,
  lockId: string,
  lock: Lock,
  ids: readonly string[],
  { ending, reason = '', again }: Settlement,
  nowMs: number,
): { draft: QueueRecord; items: number } {
  const wanted = rangesByPriority(record, ids)
  const part: Stretch[] = []
  const rest: Stretch[] = []
  let repeated = 0
  for (const [priority, ranges] of wanted) {
    const held = stretchesIn(lock.stretches, priority)
    part.push(...stretchesOf(priority, intersect(ranges, held)))
    const others = subtract(ranges, held)
    const putOff = again === undefined ? [] : intersect(others, inRetry(record, priority))
    repeated += countOf(putOff)
    repeated += settledAlready(record, priority, subtract(others, putOff), ending)
  }
  for (const priority of new Set(lock.stretches.map((stretch) => stretch.priority))) {
    const held = stretchesIn(lock.stretches, priority)
    rest.push(...stretchesOf(priority, subtract(held, wanted.get(priority) ?? [])))
  }
  const items = itemsIn(part) + repeated
  if (itemsIn(part) === 0) return { draft: record, items }
  const locks = new Map(record.locks).set(lockId, {
    ...lock,
    stretches: rest.length > 0 ? rest : part,
  })
  const shrunk = { ...record, locks }
  if (rest.length === 0) {
    return { draft: endLock(shrunk, lockId, ending, nowMs, reason, again), items }
  }
  switch (ending) {
    case 'acknowledged':
      return { draft: settle(shrunk, part), items }
    case 'released': {
      const draft =
        again === undefined ? giveBack(shrunk, part) : comeBackLater(shrunk, part, again)
      return { draft, items }
    }
    case 'dead-lettered':
      return { draft: bury(shrunk, part, reason), items }
    default:
      return ending satisfies never
  }
}

function rangesByPriority(record: QueueRecord, ids: readonly string[]): Map<number, Ranges> {
  const byPriority = new Map<number, Range[]>()
  for (const id of ids) {
    const place = parseItemId(id)
    const lane = place && record.lanes.get(place.priority)
    if (place === undefined || (lane !== undefined && lane.epoch !== place.epoch))
      throw notOfLock(id)
    const ranges = byPriority.get(place.priority) ?? []
    ranges.push({ from: place.sequence, to: place.sequence + 1 })
    byPriority.set(place.priority, ranges)
  }
  return new Map([...byPriority].map(([priority, ranges]) => [priority, normalised(ranges)]))
}

function settledAlready(
  record: QueueRecord,
  priority: number,
  others: Ranges,
  ending: PartialEnding,
): number {
  const lane = record.lanes.get(priority)
  const open = lane === undefined ? [] : unsettledIn(lane)
  const end = lane === undefined ? Number.POSITIVE_INFINITY : lane.frontier
  for (const { from, to } of others) {
    if (ending !== 'acknowledged' || to > end || includes(open, from)) throw notOfLock()
    if (intersect([{ from, to }], open).length > 0) throw notOfLock()
  }
  return countOf(others)
}

const notOfLock = (id?: string): QueueError =>
  new QueueError(
    'INVALID_PARAMETER',
    id === undefined
      ? 'ids must name items of this lock; one or more are not in it'
      : `ids must name items of this lock; "${id}" is not in it`,
    { field: 'ids' },
  )
