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

/** What of a lane is there for a reader: not settled, not dead, not acknowledged and yet to fold. */
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

/** Until when waiting items hold back the others; left out if they do not. */
export function blockedField(record: QueueRecord, nowMs: number): { blockedUntilMs?: number } {
  const untilMs = blockedUntilMs(record, nowMs)
  return untilMs === undefined ? {} : { blockedUntilMs: untilMs }
}

export function countIn(record: QueueRecord): number {
  let count = 0
  for (const lane of record.lanes.values()) count += countOf(visibleIn(record, lane))
  return count
}

/** What a record tells at a glance; of a queue that is not there, that nothing is. */
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

/** Changes whenever anything in the record does, claims and acknowledgements included. */
export function etagOf(record: QueueRecord): string {
  const { born, version, appends, claims, scheduled } = record
  const counts = [born, version, appends, claims, doneLocks(record)]
  return `"${[...counts, ...(scheduled.changes > 0 ? [scheduled.changes] : [])].join('.')}"`
}

/** What is told of one priority. */
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
  /** Where the numbers from head to end lie, 200 stretches at most; what the record does not know is left out. */
  readonly stored: readonly Stored[]
}

/** As many stretches as an answer tells of a lane: a hundred of what is sealed, and the tail's. */
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
 * When the oldest item was pushed, where the record itself tells: lanes are filled in the order of time,
 * so it is the first of some lane. Nothing where any lane's first item is not in its tail.
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
