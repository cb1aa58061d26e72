import {
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import {
  endOf,
  isDone,
  type Lane,
  type QueueRecord,
  stretchesIn,
} from '../../../../lambdas/engine/core/record.ts'

/** A lane as the plain model sees it: what is settled, locked by whom, dead, and free. */
export type LaneView = {
  readonly lane: Lane
  readonly end: number
  /** Behind the head, in holes, or in a lock that was acknowledged and not folded yet. */
  readonly settled: Ranges
  /** Unsettled numbers of each lock that is not done. */
  readonly locked: ReadonlyMap<string, Ranges>
  readonly lockedByAny: Ranges
  readonly dead: Ranges
  /** Neither settled nor locked nor dead. */
  readonly free: Ranges
}

export function viewLane(record: QueueRecord, priority: number, lane: Lane): LaneView {
  const end = endOf(lane)
  const behind: Range[] = [{ from: 0, to: lane.head }, ...lane.holes]
  const live: [string, Ranges][] = []
  for (const [lockId, lock] of record.locks) {
    const numbers = stretchesIn(lock.stretches, priority)
    if (numbers.length === 0) continue
    if (isDone(lock)) behind.push(...numbers)
    else live.push([lockId, numbers])
  }
  const settled = normalised(behind)
  const locked = new Map<string, Ranges>()
  let lockedByAny: Ranges = none
  for (const [lockId, numbers] of live) {
    const unsettled = subtract(numbers, settled)
    if (unsettled.length === 0) continue
    locked.set(lockId, unsettled)
    lockedByAny = union(lockedByAny, unsettled)
  }
  const dead = subtract(normalised(lane.dead), settled)
  const unsettled = subtract(end > 0 ? [{ from: 0, to: end }] : none, settled)
  const free = subtract(subtract(unsettled, lockedByAny), dead)
  return { lane, end, settled, locked, lockedByAny, dead, free }
}

export const overlap = (a: Ranges, b: Ranges): boolean =>
  a.length > 0 && b.length > 0 && intersect(a, b).length > 0

export const showRanges = (ranges: Ranges): string =>
  ranges.map(({ from, to }) => `[${from},${to})`).join(' ') || 'none'
