import { QueueError } from '../../foundation/errors.ts'
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
  const held = [...record.locks.values()]
    .filter((lock) => isLive(lock, nowMs))
    .flatMap((lock) => lock.stretches.filter((stretch) => stretch.priority === priority))
  return held.length === 0 ? none : intersect(normalised(held), visible)
}

export function countIn(record: QueueRecord): number {
  let count = 0
  for (const lane of record.lanes.values()) count += countOf(visibleIn(record, lane))
  return count
}

/** What a record tells at a glance; of a queue that is not there, that nothing is. */
export function detailOf(record: QueueRecord | undefined, nowMs: number) {
  let lockedCount = 0
  let deadCount = 0
  const lanes: { priority: number; count: number }[] = []
  for (const [priority, lane] of record === undefined ? [] : lanesInOrder(record)) {
    const visible = visibleIn(record as QueueRecord, lane)
    const count = countOf(visible)
    if (count > 0) lanes.push({ priority, count })
    lockedCount += countOf(lockedNow(record as QueueRecord, priority, visible, nowMs))
    deadCount += countOf(lane.dead)
  }
  return { lockedCount, deadCount, scheduledCount: record?.scheduled.items ?? 0, lanes }
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

/** Where a page of browsing goes on: this lane, from this number. */
export type BrowsePlace = {
  readonly priority: number
  readonly epoch: string
  readonly sequence: number
}

export const encodeCursor = ({ priority, epoch, sequence }: BrowsePlace): string =>
  Buffer.from(`${priority}.${epoch}.${sequence}`).toString('base64url')

export function decodeCursor(cursor: string): BrowsePlace {
  const form = /^(\d{1,10})\.([A-Za-z0-9_~]{8})\.(\d{1,12})$/
  const match = form.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (match === null) throw badCursor()
  return { priority: Number(match[1]), epoch: match[2] as string, sequence: Number(match[3]) }
}

export const badCursor = (): QueueError =>
  new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier page gave', {
    field: 'cursor',
  })

/** The lanes that a page reads, each from where the cursor says. */
export function lanesFrom(
  record: QueueRecord,
  priority: number | undefined,
  place: BrowsePlace | undefined,
): { priority: number; lane: Lane; from: number }[] {
  const lanes = lanesInOrder(record).filter(
    ([p]) =>
      (priority === undefined || p === priority) && (place === undefined || p >= place.priority),
  )
  return lanes.map(([p, lane]) => ({
    priority: p,
    lane,
    // A lane made anew since then is read from its head.
    from: p === place?.priority && lane.epoch === place.epoch ? place.sequence : 0,
  }))
}
