// What others may know of a queue: pages of its items, its counts, and, by events, how it has changed. Pages and counts
// follow from one image of the record; changes follow from two, before and after a write. Readers see what is neither
// settled nor dead, and nothing of a lock that was acknowledged and waits to be folded.

import { QueueError } from '../../shared/errors.ts'
import { endsUnacknowledged, isReminded, letsExpireAgain, letsLockAgain } from './fence.ts'
import { isReference, pushedAtMsOf, spanOf } from './item.ts'
import { type ItemPlace, parseItemId } from './keys.ts'
import { parseScheduledId } from './later.ts'
import { doneLocks } from './locks.ts'
import {
  countOf,
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
} from './ranges.ts'
import {
  endOf,
  freeIn,
  hasFree,
  isDone,
  isLive,
  itemsIn,
  type Lane,
  type Lock,
  lanesInOrder,
  type QueueRecord,
  type Stretch,
  segmentOf,
  stretchesIn,
  unsettledIn,
} from './record.ts'
import { longestInS3, type Stored, storedIn } from './runs.ts'
import { blockedUntilMs, isRetry, isWorkedOn, retriesIn } from './settling.ts'

// A page of items begins where the cursor says, and goes through the lanes in the order of pops or backwards.

/** From the front, in the order of pops, or backwards from the end. */
export type BrowseOrder = 'oldest' | 'newest'

const cursorForm = /^(n?)(\d{1,10})\.([A-Za-z0-9_~]{8})\.(\d{1,12})$/

/** A cursor is the place at which the next page begins. It works for one order only: in the other, the next page would repeat items already shown. */
export const encodeCursor = (
  { priority, epoch, sequence }: ItemPlace,
  order: BrowseOrder,
): string =>
  Buffer.from(
    `${order === 'newest' ? 'n' : ''}${priority}.${epoch}.${Math.max(0, sequence)}`,
  ).toString('base64url')

export function decodeCursor(cursor: string, order: BrowseOrder): ItemPlace {
  const match = cursorForm.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (match === null || (match[1] === 'n') !== (order === 'newest')) throw badCursor()
  return { priority: Number(match[2]), epoch: match[3] as string, sequence: Number(match[4]) }
}

export const badCursor = (): QueueError =>
  new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier page gave', {
    field: 'cursor',
  })

/** The place of an item. If the item is gone, the page starts with the one after it. */
export function placeOf(from: string, priority: number | undefined): ItemPlace {
  const place = parseItemId(from)
  if (place !== undefined && (priority === undefined || priority === place.priority)) return place
  const problem =
    place !== undefined
      ? `must be the id of an item of priority ${priority}`
      : parseScheduledId(from) === undefined
        ? "must be an item's id"
        : 'is the id of a scheduled item, which is not among these before it is due'
  throw new QueueError('INVALID_PARAMETER', `from ${problem}`, { field: 'from' })
}

/** The lanes that a page reads, each with the numbers that it may show. */
export function lanesFrom(
  record: QueueRecord,
  priority: number | undefined,
  place: ItemPlace | undefined,
  order: BrowseOrder,
): { readonly lane: Lane; readonly within: Range }[] {
  const isNewest = order === 'newest'
  const lanes = lanesInOrder(record).filter(
    ([p]) =>
      (priority === undefined || p === priority) &&
      (place === undefined || (isNewest ? p <= place.priority : p >= place.priority)),
  )
  if (isNewest) lanes.reverse()
  return lanes.map(([p, lane]) => {
    const all = { from: 0, to: Number.MAX_SAFE_INTEGER }
    // If the lane was made anew since then, we read it from its beginning.
    if (p !== place?.priority || lane.epoch !== place.epoch) return { lane, within: all }
    return {
      lane,
      within: isNewest ? { ...all, to: place.sequence + 1 } : { ...all, from: place.sequence },
    }
  })
}

// What a queue's state tells: counts of its items, and times that matter to its readers.

/** The numbers of a lane that readers see: not settled, not dead, and not in an acknowledged lock. */
export function visibleIn(record: QueueRecord, lane: Lane): Ranges {
  let visible = subtract(unsettledIn(lane), lane.dead.length === 0 ? none : normalised(lane.dead))
  for (const lock of record.locks.values()) {
    if (isDone(lock)) visible = subtract(visible, stretchesIn(lock.stretches, lane.priority))
  }
  return visible
}

export function lockedNow(
  record: QueueRecord,
  priority: number,
  visible: Ranges,
  nowMs: number,
): Ranges {
  const held = [...record.locks.values()]
    .filter((lock) => isLive(lock, nowMs) && !isRetry(lock))
    .flatMap((lock) => lock.stretches.filter((stretch) => stretch.priority === priority))
  return held.length === 0 ? none : intersect(normalised(held), visible)
}

/** Items that wait for their retry; no consumer has them. */
export const waitingNow = (
  record: QueueRecord,
  priority: number,
  visible: Ranges,
  nowMs: number,
): { readonly retryAtMs: number; readonly ranges: Ranges }[] =>
  retriesIn(record, priority, nowMs).map(({ retryAtMs, ranges }) => ({
    retryAtMs,
    ranges: intersect(ranges, visible),
  }))

export const countWaiting = (...lane: Parameters<typeof waitingNow>): number =>
  waitingNow(...lane).reduce((sum, { ranges }) => sum + countOf(ranges), 0)

/** Until when waiting items hold back the others; absent if they do not. */
export function blockedField(record: QueueRecord, nowMs: number): { blockedUntilMs?: number } {
  const untilMs = blockedUntilMs(record, nowMs)
  return untilMs === undefined ? {} : { blockedUntilMs: untilMs }
}

export function countIn(record: QueueRecord): number {
  let count = 0
  for (const lane of record.lanes.values()) count += countOf(visibleIn(record, lane))
  return count
}

/** A record's counts at a glance; all zero for a queue that does not exist. */
export function detailOf(record: QueueRecord | undefined, nowMs: number) {
  let [lockedCount, waitingCount, deadCount] = [0, 0, 0]
  const lanes: { priority: number; count: number }[] = []
  if (record === undefined)
    return { lockedCount, waitingCount, deadCount, scheduledCount: 0, lanes }
  for (const [priority, lane] of lanesInOrder(record)) {
    const visible = visibleIn(record, lane)
    const count = countOf(visible)
    if (count > 0) lanes.push({ priority, count })
    lockedCount += countOf(lockedNow(record, priority, visible, nowMs))
    waitingCount += countWaiting(record, priority, visible, nowMs)
    deadCount += countOf(lane.dead)
  }
  const counts = { lockedCount, waitingCount, deadCount, scheduledCount: record.scheduled.items }
  return { ...counts, ...blockedField(record, nowMs), lanes }
}

/** Changes whenever anything in the record does, even by a claim or an acknowledgement. */
export function etagOf(record: QueueRecord): string {
  const { born, version, appends, claims, scheduled } = record
  const counts = [born, version, appends, claims, doneLocks(record)]
  return `"${[...counts, ...(scheduled.changes > 0 ? [scheduled.changes] : [])].join('.')}"`
}

/** What callers see of one priority. */
export type LaneState = {
  readonly priority: number
  /** Items stored and not settled, locked ones included, dead ones not. */
  readonly count: number
  readonly headSegment: number
  readonly tailSegment: number
  /** The longest stretch of whole segments in the middle that lies in S3, if any does. */
  readonly headOffloadedSegment?: number
  readonly tailOffloadedSegment?: number
  readonly epoch: string
  readonly segmentSize: number
  /** The lowest number not settled, the lowest never handed out, where the tail begins, and the next number. */
  readonly head: number
  readonly frontier: number
  readonly sealed: number
  readonly end: number
  /** Where the numbers from head to end lie, as far as the record knows, in 200 stretches at most. */
  readonly stored: readonly Stored[]
}

/** How many stretches of a lane an answer holds: a hundred for sealed numbers, the rest for the tail. */
const STORED_TOLD_MAX = 200

export function laneView(record: QueueRecord, lane: Lane): LaneState {
  const { priority, epoch, segmentSize, head, frontier, sealed } = lane
  const end = endOf(lane)
  const stored = storedIn(lane)
  const inS3 = longestInS3(lane, stored)
  return {
    priority,
    count: countOf(visibleIn(record, lane)),
    headSegment: segmentOf(lane, head),
    tailSegment: segmentOf(lane, Math.max(head, end - 1)),
    ...(inS3 && { headOffloadedSegment: inS3.from, tailOffloadedSegment: inS3.to - 1 }),
    epoch,
    segmentSize,
    head,
    frontier,
    sealed,
    end,
    stored: stored.slice(0, STORED_TOLD_MAX),
  }
}

/**
 * When the oldest item was pushed, if the record itself can tell. Lanes fill up in the order of time, so the oldest
 * is the first of some lane. Undefined if any lane's first item is not in its tail.
 */
export function oldestInTails(record: QueueRecord): number | undefined {
  let earliest: number | undefined
  for (const lane of record.lanes.values()) {
    const first = visibleIn(record, lane)[0]
    if (first === undefined) continue
    const entry = entryAt(lane, first.from)
    if (entry === undefined || isReference(entry)) return undefined
    earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, pushedAtMsOf(entry))
  }
  return earliest
}

function entryAt(lane: Lane, wanted: number): string | undefined {
  let sequence = lane.sealed
  for (const entry of lane.tail) {
    if (sequence <= wanted && wanted < sequence + spanOf(entry)) return entry
    sequence += spanOf(entry)
  }
  return undefined
}

// What happened between two images of a record, as the events that tell it.

/** A change to a queue that others may want to know about. */
export type Transition =
  /** There is something to pop now; before there was nothing, or a lock was in the way. */
  | { readonly kind: 'items-available' }
  /** A consumer's time ran out; its items are back, or dead. */
  | {
      readonly kind: 'lock-expired'
      readonly items: number
      /** Items of the lock by priority. */
      readonly priorities: ReadonlyMap<number, number>
    }
  | {
      readonly kind: 'item-dead-lettered'
      readonly priority: number
      readonly reason: string
      readonly items: number
    }
  /** The last item was settled. */
  | { readonly kind: 'queue-drained' }

/**
 * Derived only from the record before and after a write: the same two images give the same answer, in
 * the same order, however often and wherever we look at them. Not even a clock plays a part: the record
 * says when the write ended locks, and that tells whether a lock had expired. That time is finer than
 * the stream's own (whole seconds).
 */
export function transitionsOf(before: QueueRecord | undefined, after: QueueRecord): Transition[] {
  return [
    ...(before === undefined ? [] : endedByTime(before, after)),
    ...newlyDead(before, after),
    ...(becameAvailable(before, after) ? [{ kind: 'items-available' } as const] : []),
    ...(wasDrained(before, after) ? [{ kind: 'queue-drained' } as const] : []),
  ]
}

function becameAvailable(before: QueueRecord | undefined, after: QueueRecord): boolean {
  if (!hasFree(after)) return false
  if (before === undefined || before.dry || !hasFree(before)) return true
  if (letsExpireAgain(before, after) || letsLockAgain(before, after)) return true
  return freesTheRest(before, after) || isReminded(before, after)
}

/**
 * Something was free all along, but behind a lock, so a pop got the answer "locked". Now the lock has ended, or a
 * part of it has come back. What became of the lock's own items does not matter: they may be dead or purged, and
 * consumers can still take the rest. A lock that ended because its holder acknowledged it needs no event: the holder
 * is at work and pops again.
 */
function freesTheRest(before: QueueRecord, after: QueueRecord): boolean {
  const live = [...before.locks].filter(([, lock]) => !isDone(lock))
  const worked = isWorkedOn(after)
  if (live.some(([lockId, lock]) => endsUnacknowledged(lockId, lock, after, worked))) return true
  const held = live.flatMap(([, { stretches }]) => stretches)
  return [...after.lanes.values()].some((lane) => isFreeAgain(held, lane, before, after))
}

/** We cannot go by `returns`: a redrive raises it only to stop claims. */
function isFreeAgain(
  held: readonly Stretch[],
  lane: Lane,
  before: QueueRecord,
  after: QueueRecord,
): boolean {
  if (before.lanes.get(lane.priority)?.epoch !== lane.epoch) return false
  const wereHeld = stretchesIn(held, lane.priority)
  return wereHeld.length > 0 && intersect(freeIn(after, lane), wereHeld).length > 0
}

/**
 * Locks that are gone because their time was over. The record remembers how the last 16 locks ended; one
 * write may end more, and for those that it has pushed out, their time tells which had expired.
 */
function endedByTime(before: QueueRecord, after: QueueRecord): Transition[] {
  const endings = new Map(after.ended.map(({ lockId, ending }) => [lockId, ending]))
  const isOver = (lockId: string, lock: Lock): boolean => {
    // When a retry comes due, no consumer ran out of time.
    if (isDone(lock) || isRetry(lock) || after.locks.has(lockId)) return false
    const ending = endings.get(lockId)
    return ending === undefined ? lock.expiresAtMs <= after.lastEndedMs : ending === 'expired'
  }
  return (
    [...before.locks]
      .filter(([lockId, lock]) => isOver(lockId, lock))
      // A map has no order in DynamoDB, but an event's id contains its place in this list.
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { stretches }]) => {
        const priorities = new Map<number, number>()
        for (const { priority, from, to } of stretches) {
          priorities.set(priority, (priorities.get(priority) ?? 0) + to - from)
        }
        return { kind: 'lock-expired', items: itemsIn(stretches), priorities }
      })
  )
}

/** Items that this write made dead, by priority and reason. */
function newlyDead(before: QueueRecord | undefined, after: QueueRecord): Transition[] {
  return lanesInOrder(after).flatMap(([priority, lane]) => {
    if (lane.dead.length === 0) return []
    const was = before?.lanes.get(priority)
    // A lane that was made anew counts its items from 0 again.
    const known = was?.epoch === lane.epoch ? normalised(was.dead) : []
    const byReason = new Map<string, number>()
    for (const { from, to, reason } of lane.dead) {
      const fresh = countOf(subtract([{ from, to }], known))
      if (fresh > 0) byReason.set(reason, (byReason.get(reason) ?? 0) + fresh)
    }
    return [...byReason]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([reason, items]): Transition => ({ kind: 'item-dead-lettered', priority, reason, items }),
      )
  })
}

function wasDrained(before: QueueRecord | undefined, after: QueueRecord): boolean {
  return before !== undefined && isDrained(after) && !isDrained(before)
}

/**
 * Nothing is stored or scheduled any more, except items on their way to the dead-letter queue. This relies on `dry`,
 * because the writer of the last settlement may not know that it is the last: we look at every write that sets the
 * flag, and at every write while it is set.
 */
const isDrained = (record: QueueRecord): boolean =>
  record.dry && record.scheduled.items === 0 && countIn(record) === 0
