import { checkQueueId } from '../../foundation/queue-id.ts'
import { type HousekeepingPlan, isAnythingDue, planHousekeeping } from '../core/housekeeping.ts'
import { recordKey } from '../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS } from '../core/limits.ts'
import { foldDone } from '../core/locks.ts'
import { type LaneWork, movePointers } from '../core/pointers.ts'
import type { Range } from '../core/ranges.ts'
import type { Lane, QueueRecord } from '../core/record.ts'
import { checkAtUpdate } from '../store/lock-updates.ts'
import type { HousekeepReport } from '../verbs.ts'
import { changeOf, commit, type Engine, pause, readRecord } from './engine.ts'
import { buryDead } from './move-dead.ts'
import { seal } from './seal.ts'
import {
  copySegment,
  deleteOriginals,
  deleteParts,
  dropLateCopies,
  eachOf,
  newlyOffloaded,
  recallSegment,
  settledParts,
  trimSegments,
} from './segment-work.ts'

/** What one run may do; the write that ends it wakes the next, should more be left. */
const ROUNDS_MAX = 6
const SEGMENTS_PER_ROUND = 24
const LANES_PER_ROUND = 20
const COMMITS_MAX = 8

type Report = { -readonly [K in keyof HousekeepReport]: HousekeepReport[K] } & { dropped: number }

/** Does whatever the record says is due, and leaves a timer where it could not. */
export async function housekeep(engine: Engine, queue: string): Promise<HousekeepReport> {
  checkQueueId(queue)
  const record = await readRecord(engine, queue)
  const { dropped: _, ...report } = await housekeepRecord(engine, queue, record, false)
  return report
}

export async function housekeepRecord(
  engine: Engine,
  queue: string,
  seen: QueueRecord | undefined,
  dropEmpty: boolean,
): Promise<Report> {
  const report: Report = {
    sealed: 0,
    offloaded: 0,
    recalled: 0,
    trimmed: 0,
    deadLettered: 0,
    dropped: 0,
    finished: false,
  }
  let record = seen
  let stuck: unknown
  try {
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      if (record === undefined) return { ...report, finished: true }
      const plan = planHousekeeping(record, dropEmpty)
      if (plan.seal) report.sealed += await seal(engine, record)
      if (plan.dead.length > 0 && stuck === undefined) {
        const buried = await buryDead(engine, queue)
        report.deadLettered += buried.moved
        stuck = buried.failure
      }
      if (plan.seal || plan.dead.length > 0) record = await readRecord(engine, queue)
      if (record === undefined) return { ...report, finished: true }
      const planned: QueueRecord = record
      const { work, failed } = await workOn(engine, planned, planHousekeeping(planned, dropEmpty))
      if (work.length === 0 && failed.length === 0 && !planned.work) {
        return { ...report, finished: true }
      }
      record = await moveOn(engine, planned, work, report)
      await dropLateCopies(engine, planned, [...work, ...failed.map(({ item }) => item)])
      const [failure] = failed
      if (failure !== undefined) {
        record = await readRecord(engine, queue)
        // The queue moved on under the plan, and took away what it was to copy: plan again.
        if (record?.version === planned.version) throw failure.error
        continue
      }
      if (record === undefined) return { ...report, finished: true }
      const left = planHousekeeping(record, dropEmpty)
      if (!isAnythingDue({ ...left, ...(stuck !== undefined && { dead: [] }) })) {
        if (stuck === undefined) return { ...report, finished: true }
        break
      }
    }
    if (stuck !== undefined) engine.onBackgroundError(stuck, { queue, step: 'dead-letter' })
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'housekeep' })
  }
  await lookAgain(engine, queue)
  return report
}

/** Copies and deletes, as far as one round goes; no pointer is moved yet. */
async function workOn(
  engine: Engine,
  record: QueueRecord,
  plan: HousekeepingPlan,
): Promise<{ work: LaneWork[]; failed: { item: LaneWork; error: unknown }[] }> {
  const work: LaneWork[] = []
  const failed: { item: LaneWork; error: unknown }[] = []
  let left = SEGMENTS_PER_ROUND
  const bounded = (segments: Range): Range => {
    const to = Math.min(segments.to, segments.from + left)
    left -= to - segments.from
    return { from: segments.from, to }
  }
  const laneOf = (priority: number): Lane => record.lanes.get(priority) as Lane

  const attempt = async (item: LaneWork, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act()
      work.push(item)
    } catch (error) {
      failed.push({ item, error })
    }
  }

  // Recall first: someone will wait for it. Trim next: it is what keeps a queue small.
  for (const { priority, segments } of plan.recall) {
    const recalled = bounded(segments)
    const lane = laneOf(priority)
    await attempt({ priority, epoch: lane.epoch, recalled }, () =>
      eachOf(recalled, (n) => recallSegment(engine, record, priority, lane, n)),
    )
  }
  for (const { priority, segments } of plan.trim) {
    const trimmed = bounded(segments)
    const lane = laneOf(priority)
    await attempt({ priority, epoch: lane.epoch, trimmed }, () =>
      trimSegments(engine, record, priority, lane, trimmed, lane.head),
    )
  }
  for (const priority of plan.tails.slice(0, LANES_PER_ROUND)) {
    const lane = laneOf(priority)
    const { parts, goneTo } = settledParts(lane)
    await attempt({ priority, epoch: lane.epoch, tailTo: goneTo }, () =>
      deleteParts(engine, record.queue, parts),
    )
  }
  for (const { priority, segments } of plan.offload) {
    const offloaded = bounded(segments)
    const lane = laneOf(priority)
    await attempt({ priority, epoch: lane.epoch, offloaded }, () =>
      eachOf(offloaded, (n) => copySegment(engine, record, priority, lane, n)),
    )
  }
  for (const priority of plan.drop.slice(0, LANES_PER_ROUND)) {
    const lane = laneOf(priority)
    const to = Math.ceil(lane.sealed / lane.segmentSize)
    const { parts, goneTo } = settledParts(lane)
    const drop = to - lane.trimmed <= SEGMENTS_PER_ROUND
    const item = {
      priority,
      epoch: lane.epoch,
      tailTo: goneTo,
      ...(drop && { dropAt: lane.sealed }),
    }
    await attempt(item, async () => {
      await deleteParts(engine, record.queue, parts)
      if (drop)
        await trimSegments(engine, record, priority, lane, { from: lane.trimmed, to }, lane.head)
    })
  }
  return { work: work.filter(isSomething), failed }
}

const isSomething = ({ recalled, trimmed, offloaded, tailTo }: LaneWork): boolean =>
  [recalled, trimmed, offloaded].some((range) => range !== undefined && range.from < range.to) ||
  tailTo !== undefined

/** Moves the pointers in one fenced write; then the rows that nobody needs any more may go. */
async function moveOn(
  engine: Engine,
  seen: QueueRecord,
  work: readonly LaneWork[],
  report: Report,
): Promise<QueueRecord | undefined> {
  let record: QueueRecord | undefined = seen
  for (let attempt = 1; attempt <= COMMITS_MAX && record !== undefined; attempt += 1) {
    const nowMs = engine.clock.nowMs()
    const folded = foldDone(record, nowMs)
    const draft = movePointers(folded, work)
    const change = changeOf(engine, record, draft, { nowMs })
    if (draft === record && change.after.work === record.work) return record
    const committed = await commit(engine, change)
    if (committed.kind === 'committed') {
      count(report, record, draft)
      await deleteOriginals(engine, record, draft)
      return committed.record
    }
    record = committed.kind === 'lost' ? committed.current : undefined
    // In no hurry, unlike the seals that it meets on a busy queue: it does not look again for its turn.
    await pause(engine, attempt)
  }
  return record
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

/** Leaves a timer for the sweeper. Lowering `checkAt` is right at any version. */
export async function lookAgain(engine: Engine, queue: string): Promise<void> {
  const atMs = engine.clock.nowMs() + HOUSEKEEPING_RETRY_MS
  await engine.dynamo.update(recordKey(queue), checkAtUpdate(atMs)).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'look-again' })
  })
}
