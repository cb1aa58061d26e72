import { PATTERNS_KEPT_MS } from '../../rate/core/bounds.ts'

// The walk that gives the patterns' settings to the queues that are there. It may be:
//
//   asked for   somebody changed the patterns, or made a queue without knowing them: `asked` counts that
//   waiting     the sweeper has noted it, and begins at `beginMs`
//   under way   it goes once around all queues, even if somebody asks for another meanwhile
//   over        there are no patterns, and nothing is left for a walk to put right
//
// All times come from the sweeper's clock: a caller's may be wrong by hours.

/**
 * Processes use patterns for half a minute after they have read them. The extra quarter of a minute allows for
 * clocks that differ, and for an index that learns of a new queue a moment late.
 */
export const WALK_AFTER_MS = PATTERNS_KEPT_MS + 15_000
/**
 * We repeat the walk after a quarter of an hour, then after four times as long each time, and at last once a day
 * while there are patterns. It finds what the first could not: a record that the store failed to return, or a queue
 * made by a process that was frozen, or by a request that was under way, for longer than the first walk waits.
 * 10,000 queues cost about $0.04 a month.
 */
const FIRST_PAUSE_MS = 15 * 60_000
const LAST_PAUSE_MS = 86_400_000

export type PatternsPlace = { readonly shard: number; readonly after?: string }

export type PatternsWalk = {
  /** How many walks callers have asked for, and how many of these requests the sweeper has noted. */
  readonly asked: number
  readonly noted: number
  /** A walk counts if it began at this time or later, when no process uses older patterns any more. */
  readonly settledMs: number
  /** When the next begins; absent while one is under way, and when there is nothing left to do. */
  readonly beginMs?: number
  readonly underWay?: {
    /** Tells it from any other walk. */
    readonly startedMs: number
    readonly place: PatternsPlace
    /** It had to skip a queue or a shard. */
    readonly failed: boolean
  }
  /** Walks done that count. */
  readonly walks: number
}

/** The walk's next state; undefined if nothing is due. More requests never put off a walk that waits. */
export function walkNow(walk: PatternsWalk, nowMs: number): PatternsWalk | undefined {
  if (walk.asked !== walk.noted) return noted(walk, nowMs)
  if (walk.underWay !== undefined) return walk
  const { beginMs, ...rest } = walk
  if (beginMs === undefined || beginMs > nowMs) return undefined
  return { ...rest, underWay: { startedMs: nowMs, place: { shard: 0 }, failed: false } }
}

function noted(walk: PatternsWalk, nowMs: number): PatternsWalk {
  const settledMs = nowMs + WALK_AFTER_MS
  const beginMs = Math.min(walk.beginMs ?? settledMs, settledMs)
  return {
    ...walk,
    noted: walk.asked,
    settledMs,
    walks: 0,
    ...(walk.underWay === undefined && { beginMs }),
  }
}

/** The walk that was under way has gone once around all queues. */
export function walkEnded(
  { underWay, ...walk }: PatternsWalk,
  nowMs: number,
  { isLast }: { readonly isLast: boolean },
): PatternsWalk {
  // It began too early to meet every queue with the newest patterns.
  if (underWay === undefined || underWay.startedMs < walk.settledMs) {
    return { ...walk, beginMs: Math.max(nowMs, walk.settledMs) }
  }
  const pauseMs = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 4 ** walk.walks)
  const after = { ...walk, walks: walk.walks + 1 }
  const isOver = isLast && pauseMs === LAST_PAUSE_MS && !underWay.failed
  return isOver ? after : { ...after, beginMs: nowMs + pauseMs }
}
