import { isReference, spanOf } from './entry.ts'
import { LANES_MAX, TAIL_SOFT_BYTES } from './limits.ts'
import { type Range, subtract } from './ranges.ts'
import { endOf, type Lane, type QueueRecord, segmentOf } from './record.ts'
import { stayingSegments } from './runs.ts'

/** Empty lanes a record keeps: making a lane again costs more than its 80 bytes. */
export const EMPTY_LANES_KEPT = 32

/** What housekeeping would do, derived from the record alone, so that a missed event does no harm. */
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
  if (from < firstAllowed || to - from < 2) return nothing
  const free = subtract([{ from, to }], stayingSegments(lane))
  const next = isEmpty(lane.offloaded) ? free : free.filter((range) => range.from === from)
  return next.find((range) => range.to - range.from >= 2) ?? nothing
}

/** Offloaded segments that the frontier is about to reach, without those that the head has left behind. */
export function toRecall(lane: Lane, bufferSegments: number): Range {
  if (isEmpty(lane.offloaded)) return nothing
  const from = Math.max(lane.recalled, lane.offloaded.from, segmentOf(lane, lane.head))
  const near = segmentOf(lane, lane.frontier) + bufferSegments + 1
  return from < Math.min(near, lane.offloaded.to)
    ? { from, to: Math.min(near, lane.offloaded.to) }
    : nothing
}

/** Whole segments behind the head: nothing in them can ever be read again. */
export function toTrim(lane: Lane): Range {
  const to = segmentOf(lane, Math.min(lane.head, lane.sealed))
  return lane.trimmed < to ? { from: lane.trimmed, to } : nothing
}

function hasSettledReference(lane: Lane): boolean {
  const first = lane.tail[0]
  if (first === undefined || !isReference(first)) return false
  return lane.sealed + spanOf(first) <= lane.head
}

const nothing: Range = { from: 0, to: 0 }
export const isEmpty = (range: Range): boolean => range.from >= range.to

function push(list: LaneSegments[], priority: number, segments: Range): void {
  if (!isEmpty(segments)) list.push({ priority, segments })
}
