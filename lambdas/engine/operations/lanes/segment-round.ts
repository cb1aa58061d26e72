import type { HousekeepingPlan } from '../../core/housekeeping.ts'
import { SEGMENT_SIZE_DEFAULT } from '../../core/limits.ts'
import { foldDone } from '../../core/locks.ts'
import { type LaneWork, movePointers } from '../../core/pointers.ts'
import type { Range } from '../../core/ranges.ts'
import type { Lane, QueueRecord } from '../../core/record.ts'
import type { HousekeepReport } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { answer, asStored, done } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import {
  copySegment,
  deleteOriginals,
  deleteParts,
  eachOf,
  newlyOffloaded,
  recallSegment,
  settledParts,
  trimSegments,
} from './segment-work.ts'

/** Items whose segments one round works on, two dozen of an ordinary size. */
const ITEMS_PER_ROUND = 2_400
const LANES_PER_ROUND = 20
const COMMITS_MAX = 8

export type Report = { -readonly [K in keyof HousekeepReport]: HousekeepReport[K] } & {
  dropped: number
}

/** One copy or deletion, and the pointers that may move once it is done. */
type Task = { readonly item: LaneWork; readonly act: () => Promise<unknown> }

type WorkDone = {
  readonly work: LaneWork[]
  readonly failed: { readonly item: LaneWork; readonly error: unknown }[]
}

/** Copies and deletes, as far as one round goes; no pointer is moved yet. */
export async function workOn(
  engine: Engine,
  record: QueueRecord,
  plan: HousekeepingPlan,
): Promise<WorkDone> {
  const work: LaneWork[] = []
  const failed: WorkDone['failed'] = []
  for (const { item, act } of tasksOf(engine, record, plan)) {
    try {
      await act()
      work.push(item)
    } catch (error) {
      failed.push({ item, error })
    }
  }
  return { work: work.filter(isSomething), failed }
}

/** Recalls come first, because a pop will wait for them. Trims come next: they keep a queue small. */
function* tasksOf(engine: Engine, record: QueueRecord, plan: HousekeepingPlan): Generator<Task> {
  let left = ITEMS_PER_ROUND
  const bounded = (lane: Lane, segments: Range): Range => {
    const weight = weightOf(lane)
    const to = Math.min(segments.to, segments.from + Math.floor(left / weight))
    left -= weight * (to - segments.from)
    return { from: segments.from, to }
  }
  const laneOf = (priority: number): Lane => record.lanes.get(priority) as Lane
  for (const { priority, segments } of plan.recall) {
    const lane = laneOf(priority)
    const recalled = bounded(lane, segments)
    yield {
      item: { priority, epoch: lane.epoch, recalled },
      act: () => eachOf(recalled, (n) => recallSegment(engine, record, lane, n)),
    }
  }
  for (const { priority, segments } of plan.trim) {
    const lane = laneOf(priority)
    const trimmed = bounded(lane, segments)
    yield {
      item: { priority, epoch: lane.epoch, trimmed },
      act: () => trimSegments(engine, record, lane, trimmed, lane.head),
    }
  }
  for (const priority of plan.tails.slice(0, LANES_PER_ROUND)) {
    const lane = laneOf(priority)
    const { parts, goneTo } = settledParts(lane)
    yield {
      item: { priority, epoch: lane.epoch, tailTo: goneTo },
      act: () => deleteParts(engine, record.queue, parts),
    }
  }
  for (const { priority, segments } of plan.offload) {
    const lane = laneOf(priority)
    const offloaded = bounded(lane, segments)
    yield {
      item: { priority, epoch: lane.epoch, offloaded },
      act: () => eachOf(offloaded, (n) => copySegment(engine, record, lane, n)),
    }
  }
  for (const priority of plan.drop.slice(0, LANES_PER_ROUND)) {
    yield dropTask(engine, record, laneOf(priority))
  }
}

/**
 * What a segment counts of a round: its items, and no fewer than ten, because each segment takes requests of its own. A
 * large segment counts no more than an ordinary one.
 */
const weightOf = ({ segmentSize }: Lane): number =>
  Math.min(SEGMENT_SIZE_DEFAULT, Math.max(10, segmentSize))

/** For a drained lane: deletes as many of its rows and objects as one round can, then the lane itself. */
function dropTask(engine: Engine, record: QueueRecord, lane: Lane): Task {
  const to = Math.ceil(lane.sealed / lane.segmentSize)
  const { parts, goneTo } = settledParts(lane)
  const drop = (to - lane.trimmed) * weightOf(lane) <= ITEMS_PER_ROUND
  return {
    item: {
      priority: lane.priority,
      epoch: lane.epoch,
      tailTo: goneTo,
      dropAt: drop ? lane.sealed : undefined,
    },
    async act() {
      await deleteParts(engine, record.queue, parts)
      if (!drop) return
      const segments = { from: lane.trimmed, to }
      await trimSegments(engine, record, lane, segments, lane.head)
    },
  }
}

const isSomething = ({ recalled, trimmed, offloaded, tailTo }: LaneWork): boolean =>
  [recalled, trimmed, offloaded].some((range) => range !== undefined && range.from < range.to) ||
  tailTo !== undefined

/** Moves the pointers in one fenced write; then the rows that nobody needs any more may go. */
export function moveOn(
  engine: Engine,
  seen: QueueRecord,
  work: readonly LaneWork[],
  report: Report,
): Promise<QueueRecord | undefined> {
  const course = {
    from: asStored(seen),
    // Housekeeping is in no hurry, unlike the seals that it meets on a busy queue, so it does not fight for its turn.
    attemptsMax: COMMITS_MAX,
    exhausted: (record: QueueRecord | undefined) => record,
  }
  return attempts<QueueRecord | undefined>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined) return answer(undefined)
    const draft = movePointers(foldDone(record, nowMs), work)
    const change = changeOf(engine, record, draft, { nowMs })
    if (draft === record && change.after.work === record.work) {
      return answer(record)
    }
    return {
      kind: 'write',
      change,
      async landed(after) {
        count(report, record, draft)
        await deleteOriginals(engine, record, draft)
        return done(after)
      },
    }
  })
}

function count(report: Report, before: QueueRecord, after: QueueRecord): void {
  for (const [priority, lane] of before.lanes) {
    const next = after.lanes.get(priority)
    if (next === undefined) {
      report.dropped += 1
      continue
    }
    report.trimmed += next.trimmed - lane.trimmed
    report.offloaded += newlyOffloaded(lane, next).length
    report.recalled += Math.max(0, next.recalled - Math.max(lane.recalled, lane.offloaded.from))
  }
}
