import { decodeReference, isReference, spanOf } from './item.ts'
import { LANES_MAX, TAIL_SOFT_BYTES } from './limits.ts'
import { none, normalised, type Range, type Ranges, subtract } from './ranges.ts'
import {
  endOf,
  type Lane,
  lockedIn,
  type QueueRecord,
  type Run,
  type SealedPlace,
  segmentOf,
  withLane,
  withoutLane,
} from './record.ts'
import { dropSettledTail } from './settling.ts'

// What seals leave behind, as the record remembers it: numbers next to each other that lie in the same kind
// of place are a run. Nothing is read or deleted by them. They say what is worth offloading, and what to tell.

/**
 * Runs of a record, shared by its lanes: four bytes each, twelve for the only one of a lane, so less than a
 * kilobyte however many lanes there are. Every write is billed by the whole record.
 */
export const RUNS_MAX = 80
/** Runs of one lane: some 32 bytes, so that pushes that take turns between two kinds pay for next to nothing. */
export const LANE_RUNS_MAX = 8

/** How many runs a lane may have beside those of the others: several while there is plenty, then one. */
export const runsLeft = (others: number): number =>
  others >= RUNS_MAX ? 0 : Math.max(1, Math.min(LANE_RUNS_MAX, RUNS_MAX / 2 - others))

/** The lane's runs once these entries are sealed: `max` at most, without those that the head has passed. */
export function runsAfter(lane: Lane, entries: readonly string[], max = LANE_RUNS_MAX): Run[] {
  if (max === 0) return []
  // A record that a person wrote by hand may list more than was sealed.
  const runs = runsAhead(lane).filter(({ to }) => to <= lane.sealed)
  const from = Math.max(runs.at(-1)?.to ?? 0, lane.head)
  if (from < lane.sealed) join(runs, { from, to: lane.sealed, in: 'unknown' })
  let at = lane.sealed
  for (const entry of entries) {
    const to = at + spanOf(entry)
    if (to > lane.head) join(runs, { from: at, to, in: placeOf(entry) })
    at = to
  }
  return coarser(runs, max)
}

export const runsAhead = ({ runs, head }: Pick<Lane, 'runs' | 'head'>): Run[] =>
  runs.filter(({ to }) => to > head)

/** Where an entry's items lie once it is sealed. */
function placeOf(entry: string): SealedPlace {
  if (!isReference(entry)) return 'rows'
  return decodeReference(entry).storage === 's3' ? 'batch-s3' : 'batch-rows'
}

/** Adds a stretch, joined to the last one if they touch and are of one kind. */
export function join<T extends Range & { readonly in: string }>(stretches: T[], next: T): void {
  const last = stretches.at(-1)
  if (last?.in === next.in && last.to === next.from) {
    stretches[stretches.length - 1] = { ...last, to: next.to }
  } else {
    stretches.push(next)
  }
}

/** Joins the shortest neighbours until there are no more than `max` runs. */
function coarser(runs: readonly Run[], max: number): Run[] {
  const left = [...runs]
  for (let over = runs.length - max; over > 0; over -= 1) joinShortest(left)
  const joined: Run[] = []
  for (const run of left) join(joined, run)
  return joined
}

function joinShortest(runs: Run[]): void {
  let least = 0
  const together = (i: number): number => (runs[i + 1] as Run).to - (runs[i] as Run).from
  for (let i = 1; i + 1 < runs.length; i += 1) if (together(i) < together(least)) least = i
  const [one, other] = runs.slice(least, least + 2) as [Run, Run]
  runs.splice(least, 2, { from: one.from, to: other.to, in: placeOfBoth(one, other) })
}

/**
 * Leaving a run where it is costs only its storage; offloading it costs several requests. So if either run has a
 * batch in S3, both stay.
 */
function placeOfBoth(one: Run, other: Run): Run['in'] {
  if (one.in === other.in) return one.in
  if (isLeft(one) || isLeft(other)) return 'batches'
  const longer = one.to - one.from > other.to - other.from ? one : other
  return longer.in === 'batch-rows' ? 'batches' : 'unknown'
}

const isLeft = ({ in: place }: Run): boolean => place === 'batch-s3' || place === 'batches'

/**
 * Segments whose items stay where they were born, because all of them lie in batches or, as far as the record
 * knows, some lie in a batch in S3: a copy would cost more than it saves.
 */
export function stayingSegments({ runs, segmentSize }: Pick<Lane, 'runs' | 'segmentSize'>): Ranges {
  const staying: Range[] = []
  const inBatches: (Range & { readonly in: string })[] = []
  for (const run of runs) {
    const { from, to } = run
    if (run.in !== 'batch-rows' && !isLeft(run)) continue
    join(inBatches, { from, to, in: 'batches' })
    if (run.in === 'batch-rows') continue
    staying.push({ from: Math.floor(from / segmentSize), to: Math.ceil(to / segmentSize) })
  }
  for (const { from, to } of inBatches) {
    const whole = { from: Math.ceil(from / segmentSize), to: Math.floor(to / segmentSize) }
    if (whole.from < whole.to) staying.push(whole)
  }
  return staying.length === 0 ? none : normalised(staying)
}

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

/**
 * Moves the pointers for finished work, as far as the record (which may be newer than the one the
 * work was planned from) still allows. Copies stay true whatever has happened since, so after losing
 * the fence we decide only this step again.
 */
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
    offloaded: isEmpty(left) ? { from: 0, to: 0 } : left,
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

/** References at the front of the tail whose items are all settled, with their first numbers. */
export function settledReferences(lane: Lane): { entry: string; start: number }[] {
  const found: { entry: string; start: number }[] = []
  let start = lane.sealed
  for (const entry of lane.tail) {
    const end = start + spanOf(entry)
    if (end > lane.head) break
    if (entry.startsWith('b')) found.push({ entry, start })
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
