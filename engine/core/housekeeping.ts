// What housekeeping would do for a record: seal, offload to S3, recall from there, trim, and drop what is drained. The
// plan follows from the record alone, so that a missed event does no harm, and a run works in two steps: copies and
// deletions beside the fence, then pointers under it. Copies stay true whatever happens meanwhile, because a number never
// changes its item. So a run that loses a race decides only the pointers again, and moves them as far as the newer record
// allows.

import { isReference, spanOf } from './item.ts'
import { LANES_MAX, TAIL_SOFT_BYTES } from './limits.ts'
import { type Range, subtract } from './ranges.ts'
import {
  endOf,
  type Lane,
  lockedIn,
  noSegments,
  type QueueRecord,
  segmentOf,
  withLane,
  withoutLane,
} from './record.ts'
import { runsAhead, stayingSegments } from './runs.ts'
import { dropSettledTail } from './settling.ts'

export type HousekeepReport = {
  readonly sealed: number
  readonly offloaded: number
  readonly recalled: number
  readonly trimmed: number
  readonly deadLettered: number
  /** False if this run had to leave something undone. */
  readonly finished: boolean
}

/** Empty lanes a record keeps: making a lane again costs more than its 80 bytes. */
export const EMPTY_LANES_KEPT = 32

export type HousekeepingPlan = {
  readonly seal: boolean
  readonly offload: readonly LaneSegments[]
  readonly recall: readonly LaneSegments[]
  readonly trim: readonly LaneSegments[]
  /** Lanes with settled references at the front of the tail. */
  readonly tails: readonly number[]
  readonly dead: readonly number[]
  /** Drained lanes to drop. */
  readonly drop: readonly number[]
}

type LaneSegments = { readonly priority: number; readonly segments: Range }

export function planHousekeeping(record: QueueRecord, dropEmpty = false): HousekeepingPlan {
  const offload: LaneSegments[] = []
  const recall: LaneSegments[] = []
  const trim: LaneSegments[] = []
  const tails: number[] = []
  const dead: number[] = []
  const empty: number[] = []
  const buffer = record.configuration.bufferSegments
  for (const [priority, lane] of record.lanes) {
    push(offload, priority, toOffload(lane, buffer))
    push(recall, priority, toRecall(lane, buffer))
    push(trim, priority, toTrim(lane))
    if (hasSettledReference(lane)) tails.push(priority)
    if (lane.dead.length > 0) dead.push(priority)
    if (lane.head === endOf(lane)) empty.push(priority)
  }
  const tooMany = empty.length > EMPTY_LANES_KEPT || record.lanes.size >= LANES_MAX
  const drop = dropEmpty || tooMany ? empty : []
  return { seal: record.tailBytes >= TAIL_SOFT_BYTES, offload, recall, trim, tails, dead, drop }
}

function push(list: LaneSegments[], priority: number, segments: Range): void {
  if (!isEmpty(segments)) list.push({ priority, segments })
}

export const housekeepingDue = (record: QueueRecord): boolean =>
  isAnythingDue(planHousekeeping(record))

/** Ignores sealing: the appends that fill the tail see to that, and another sealer would only collide with theirs. */
export const isAnythingDue = (plan: Omit<HousekeepingPlan, 'seal'>): boolean =>
  [plan.offload, plan.recall, plan.trim, plan.tails, plan.dead, plan.drop].some(
    (tasks) => tasks.length > 0,
  )

/**
 * Full segments in the middle: wholly sealed, beyond the buffer ahead of the frontier, before the
 * tail, and not among those that stay in the batches they were born in. They form one contiguous range,
 * so that the record holds two numbers however long the queue is; segments behind a gap wait until that
 * range is used up. At least two at a time, because AWS bills each fenced write by the whole record.
 */
export function toOffload(lane: Lane, bufferSegments: number): Range {
  const firstAllowed = segmentOf(lane, lane.frontier) + bufferSegments + 1
  const from = isEmpty(lane.offloaded) ? firstAllowed : lane.offloaded.to
  const to = Math.min(segmentOf(lane, lane.sealed), segmentOf(lane, endOf(lane)))
  if (from < firstAllowed || to - from < 2) return noSegments
  const free = subtract([{ from, to }], stayingSegments(lane))
  const next = isEmpty(lane.offloaded) ? free : free.filter((range) => range.from === from)
  return next.find((range) => range.to - range.from >= 2) ?? noSegments
}

/** Offloaded segments that the frontier is about to reach, without those that the head has left behind. */
export function toRecall(lane: Lane, bufferSegments: number): Range {
  if (isEmpty(lane.offloaded)) return noSegments
  const from = Math.max(lane.recalled, lane.offloaded.from, segmentOf(lane, lane.head))
  const near = segmentOf(lane, lane.frontier) + bufferSegments + 1
  return from < Math.min(near, lane.offloaded.to)
    ? { from, to: Math.min(near, lane.offloaded.to) }
    : noSegments
}

/** Whole segments behind the head: nothing in them can ever be read again. */
export function toTrim(lane: Lane): Range {
  const to = segmentOf(lane, Math.min(lane.head, lane.sealed))
  return lane.trimmed < to ? { from: lane.trimmed, to } : noSegments
}

function hasSettledReference(lane: Lane): boolean {
  const first = lane.tail[0]
  if (first === undefined || !isReference(first)) return false
  return lane.sealed + spanOf(first) <= lane.head
}

const isEmpty = (range: Range): boolean => range.from >= range.to

// The second step of a run: the pointers that its fenced write moves, as far as its copies allow.

/** The copies and deletions of a housekeeping run, for which the pointers have yet to move. */
export type LaneWork = {
  readonly priority: number
  readonly epoch: string
  /** Segments whose rows and objects are gone. */
  readonly trimmed?: Range
  /** Housekeeping has deleted the rows of the tail's references up to this number. */
  readonly tailTo?: number
  /** Segments that are in S3 now. */
  readonly offloaded?: Range
  /** Offloaded segments that are in rows as well. */
  readonly recalled?: Range
  /** All rows and objects of the drained lane are gone, up to this sealed number. */
  readonly dropAt?: number | undefined
}

/** Moves the pointers for finished work. The record may be newer than the one from which the work was planned. */
export function movePointers(record: QueueRecord, work: readonly LaneWork[]): QueueRecord {
  let next = record
  for (const done of work) {
    const lane = next.lanes.get(done.priority)
    if (lane === undefined || lane.epoch !== done.epoch) continue
    const moved = dropTail(recalled(offloaded(trimmed(lane, done), done, record), done), done)
    const bytes = moved.bytes
    if (moved.lane !== lane) next = withLane(next, moved.lane)
    if (bytes > 0) next = { ...next, tailBytes: next.tailBytes - bytes }
    if (done.dropAt === lane.sealed && isDrained(next, moved.lane))
      next = withoutLane(next, done.priority)
  }
  return next
}

function trimmed(lane: Lane, { trimmed: segments }: LaneWork): Lane {
  // Only what follows directly: a run that planned earlier may report old work.
  if (segments === undefined || segments.from > lane.trimmed || segments.to <= lane.trimmed)
    return lane
  const from = Math.max(lane.offloaded.from, segments.to)
  const left = { from, to: lane.offloaded.to }
  return {
    ...lane,
    trimmed: segments.to,
    runs: runsAhead(lane),
    offloaded: isEmpty(left) ? noSegments : left,
    recalled: isEmpty(left) ? 0 : lane.recalled,
  }
}

function offloaded(lane: Lane, { offloaded: segments }: LaneWork, record: QueueRecord): Lane {
  if (segments === undefined) return lane
  const buffer = record.configuration.bufferSegments
  const firstAllowed = segmentOf(lane, lane.frontier) + buffer + 1
  if (isEmpty(lane.offloaded)) {
    const range = { from: Math.max(segments.from, firstAllowed), to: segments.to }
    return isEmpty(range) ? lane : { ...lane, offloaded: range }
  }
  const { from, to } = lane.offloaded
  // Contiguous, and each segment once: another run may have been faster.
  if (to < segments.from || to >= segments.to || to < firstAllowed) return lane
  return { ...lane, offloaded: { from, to: segments.to } }
}

function recalled(lane: Lane, { recalled: segments }: LaneWork): Lane {
  if (segments === undefined) return lane
  const next = Math.max(lane.recalled, lane.offloaded.from, segmentOf(lane, lane.head))
  const to = Math.min(segments.to, lane.offloaded.to)
  return segments.from <= next && next < to ? { ...lane, recalled: to } : lane
}

function dropTail(lane: Lane, { tailTo }: LaneWork): { lane: Lane; bytes: number } {
  if (tailTo === undefined) return { lane, bytes: 0 }
  return dropSettledTail(lane, tailTo)
}

function isDrained(record: QueueRecord, lane: Lane): boolean {
  return (
    lane.head === endOf(lane) &&
    lane.tail.length === 0 &&
    lane.dead.length === 0 &&
    lockedIn(record, lane.priority).length === 0
  )
}

// Which rows nobody reads any more, so that a run may delete them.

/** References at the front of the tail whose items are all settled, with their first numbers. */
export function settledReferences(lane: Lane): { entry: string; start: number }[] {
  const found: { entry: string; start: number }[] = []
  let start = lane.sealed
  for (const entry of lane.tail) {
    const end = start + spanOf(entry)
    if (end > lane.head) break
    if (isReference(entry)) found.push({ entry, start })
    start = end
  }
  return found
}

/**
 * Whether nobody will ever again read numbers [from, to) from where they were first written: each is
 * behind the head, or in a segment that stays in S3 until it is behind the head.
 */
export function isSpent(lane: Lane, from: number, to: number): boolean {
  const last = segmentOf(lane, to - 1)
  for (let segment = segmentOf(lane, from); segment <= last; segment += 1) {
    const inS3 = lane.offloaded.from <= segment && segment < lane.offloaded.to
    const behind = Math.min(to, (segment + 1) * lane.segmentSize) <= lane.head
    if (!inS3 && !behind) return false
  }
  return true
}
