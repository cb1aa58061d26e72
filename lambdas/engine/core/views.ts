import { isReference, pushedAtMsOf, spanOf } from './entry.ts'
import { doneLocks } from './locks.ts'
import { countOf, intersect, none, normalised, type Ranges, subtract } from './ranges.ts'
import {
  endOf,
  isDone,
  isLive,
  type Lane,
  lanesInOrder,
  type QueueRecord,
  segmentOf,
  stretchesIn,
  unsettledIn,
} from './record.ts'
import { blockedUntilMs, isRetry, retriesIn } from './retry.ts'
import { longestInS3, type Stored, storedIn } from './stored-in.ts'

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
  const held = [...record.locks]
    .filter(([lockId, lock]) => isLive(lock, nowMs) && !isRetry(lockId))
    .flatMap(([, lock]) => lock.stretches.filter((stretch) => stretch.priority === priority))
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
