import { decodeReference, spanOf } from '../core/entry.ts'
import { fenced } from '../core/fence.ts'
import { type HousekeepingPlan, housekeepingDue, planHousekeeping } from '../core/housekeeping.ts'
import { checkQueueId, recordKey, segmentObjectKey } from '../core/keys.ts'
import { HOUSEKEEPING_RETRY_MS, LOCKS_PER_WRITE } from '../core/limits.ts'
import { foldDone } from '../core/locks.ts'
import { isSpent, type LaneWork, movePointers, settledReferences } from '../core/pointers.ts'
import type { Range } from '../core/ranges.ts'
import { endOf, type Lane, type QueueRecord } from '../core/record.ts'
import type { HousekeepReport } from '../queues.ts'
import { deleteBatchParts, partsIn } from '../store/batches.ts'
import type { Row } from '../store/dynamo.ts'
import { checkAtUpdate } from '../store/lock-updates.ts'
import {
  keyOfRow,
  putSegmentObject,
  recalledRows,
  referencesIn,
  segmentRows,
} from '../store/segments.ts'
import { commit, type Engine, newMark, pause, readRecord } from './engine.ts'
import { buryDead } from './move-dead.ts'
import { seal } from './seal.ts'

/** What one run may do; the write that ends it wakes the next, should more be left. */
const ROUNDS_MAX = 6
const SEGMENTS_PER_ROUND = 24
const SEGMENTS_AT_ONCE = 6
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
    forgotten: false,
    finished: false,
  }
  let record = seen
  try {
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      if (record === undefined) return { ...report, finished: true }
      const plan = planHousekeeping(record, dropEmpty)
      if (plan.seal) report.sealed += await seal(engine, record)
      if (plan.dead.length > 0) report.deadLettered += await buryDead(engine, queue)
      if (plan.seal || plan.dead.length > 0) record = await readRecord(engine, queue)
      if (record === undefined) return { ...report, finished: true }
      const worked = await workOn(engine, record, planHousekeeping(record, dropEmpty))
      if (worked.length === 0 && !record.work) return { ...report, finished: true }
      record = await moveOn(engine, record, worked, report)
      if (record === undefined) return { ...report, finished: true }
      const due = dropEmpty ? anythingIn(planHousekeeping(record, true)) : housekeepingDue(record)
      if (!due) return { ...report, finished: true }
    }
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'housekeep' })
  }
  await lookAgain(engine, queue)
  return report
}

const anythingIn = (plan: HousekeepingPlan): boolean =>
  [plan.offload, plan.recall, plan.trim, plan.tails, plan.dead, plan.drop].some(
    (tasks) => tasks.length > 0,
  )

/** Copies and deletes, as far as one round goes; no pointer is moved yet. */
async function workOn(
  engine: Engine,
  record: QueueRecord,
  plan: HousekeepingPlan,
): Promise<LaneWork[]> {
  const work: LaneWork[] = []
  let left = SEGMENTS_PER_ROUND
  const bounded = (segments: Range): Range => {
    const to = Math.min(segments.to, segments.from + left)
    left -= to - segments.from
    return { from: segments.from, to }
  }
  const laneOf = (priority: number): Lane => record.lanes.get(priority) as Lane

  // Recall first: someone will wait for it. Trim next: it is what keeps a queue small.
  for (const { priority, segments } of plan.recall) {
    const recalled = bounded(segments)
    await eachOf(recalled, (n) => recallSegment(engine, record, priority, laneOf(priority), n))
    work.push({ priority, epoch: laneOf(priority).epoch, recalled })
  }
  for (const { priority, segments } of plan.trim) {
    const trimmed = bounded(segments)
    await trimSegments(engine, record, priority, laneOf(priority), trimmed)
    work.push({ priority, epoch: laneOf(priority).epoch, trimmed })
  }
  for (const priority of plan.tails.slice(0, LANES_PER_ROUND)) {
    const tailTo = await trimTail(engine, record, laneOf(priority))
    work.push({ priority, epoch: laneOf(priority).epoch, tailTo })
  }
  for (const { priority, segments } of plan.offload) {
    const offloaded = bounded(segments)
    await eachOf(offloaded, (n) => copySegment(engine, record, priority, laneOf(priority), n))
    work.push({ priority, epoch: laneOf(priority).epoch, offloaded })
  }
  for (const priority of plan.drop.slice(0, LANES_PER_ROUND)) {
    work.push(await emptyLane(engine, record, priority, laneOf(priority)))
  }
  return work.filter(
    ({ recalled, trimmed, offloaded, tailTo, drop }) =>
      [recalled, trimmed, offloaded].some(
        (range) => range !== undefined && range.from < range.to,
      ) ||
      tailTo !== undefined ||
      drop,
  )
}

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
    const folded = foldDone(record, nowMs, LOCKS_PER_WRITE)
    const draft = movePointers(folded, work)
    const change = fenced(record, draft, { nowMs, mark: newMark(engine) })
    if (draft === record && change.after.work === record.work) return record
    const committed = await commit(engine, change)
    if (committed.kind === 'committed') {
      count(report, record, draft)
      await deleteOriginals(engine, record, draft)
      return committed.record
    }
    record = committed.kind === 'lost' ? committed.current : undefined
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

function newlyOffloaded(before: Lane, after: Lane): number[] {
  const segments: number[] = []
  for (let n = after.offloaded.from; n < after.offloaded.to; n += 1) {
    if (n < before.offloaded.from || n >= before.offloaded.to) segments.push(n)
  }
  return segments
}

async function copySegment(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  lane: Lane,
  segment: number,
): Promise<void> {
  const from = segment * lane.segmentSize
  const stretch = { priority, from, to: from + lane.segmentSize }
  const read = await engine.items.read(record, [stretch])
  if (read.kind === 'missing') throw gone(record, priority, read.sequence)
  await putSegmentObject(engine.objects, record.queue, priority, lane, segment, read.entries)
}

async function recallSegment(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  lane: Lane,
  segment: number,
): Promise<void> {
  const from = segment * lane.segmentSize
  const stretch = { priority, from, to: from + lane.segmentSize }
  const read = await engine.items.read(record, [stretch])
  if (read.kind === 'missing') throw gone(record, priority, read.sequence)
  const rows = recalledRows(record.queue, priority, lane, segment, read.entries)
  await engine.dynamo.putMany(rows)
}

/** The originals of segments that this write made offloaded: their object is theirs until trimmed. */
async function deleteOriginals(
  engine: Engine,
  before: QueueRecord,
  after: QueueRecord,
): Promise<void> {
  for (const [priority, lane] of after.lanes) {
    const was = before.lanes.get(priority)
    if (was === undefined || was === lane) continue
    const segments = newlyOffloaded(was, lane)
    for (let at = 0; at < segments.length; at += SEGMENTS_AT_ONCE) {
      await Promise.all(
        segments.slice(at, at + SEGMENTS_AT_ONCE).map(async (segment) => {
          const rows = await segmentRows(engine.dynamo, after.queue, priority, lane, segment, true)
          const originals = rows.filter((row) => !(row.sk as string).startsWith('r'))
          await deleteRows(engine, after.queue, lane, originals)
        }),
      )
    }
  }
}

async function trimSegments(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  lane: Lane,
  segments: Range,
): Promise<void> {
  const objects: string[] = []
  await eachOf(segments, async (segment) => {
    const rows = await segmentRows(engine.dynamo, record.queue, priority, lane, segment, true)
    await deleteRows(engine, record.queue, lane, rows)
    if (lane.offloaded.from <= segment && segment < lane.offloaded.to) {
      objects.push(segmentObjectKey(record.queue, lane.epoch, priority, segment))
    }
  })
  await engine.objects.deleteMany(objects)
}

/** Parts of batches first: once the rows are gone, nothing points to them any more. */
async function deleteRows(
  engine: Engine,
  queue: string,
  lane: Lane,
  rows: readonly Row[],
): Promise<void> {
  for (const { reference, start } of referencesIn(rows)) {
    const size = reference.storage === 's3' ? reference.count : reference.partItems
    const spent: number[] = []
    for (let part = 0; part * size < reference.count; part += 1) {
      const to = start + Math.min(reference.count, (part + 1) * size)
      if (isSpent(lane, start + part * size, to)) spent.push(part)
    }
    await deleteBatchParts(engine, queue, reference, spent)
  }
  await engine.dynamo.deleteMany(rows.map(keyOfRow))
}

async function trimTail(engine: Engine, record: QueueRecord, lane: Lane): Promise<number> {
  let goneTo = lane.sealed
  for (const { entry, start } of settledReferences(lane)) {
    const reference = decodeReference(entry)
    const parts = [...Array(partsIn(reference)).keys()]
    await deleteBatchParts(engine, record.queue, reference, parts)
    goneTo = start + spanOf(entry)
  }
  return goneTo
}

async function emptyLane(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  lane: Lane,
): Promise<LaneWork> {
  const tailTo = await trimTail(engine, record, lane)
  const to = Math.ceil(lane.sealed / lane.segmentSize)
  const drop = to - lane.trimmed <= SEGMENTS_PER_ROUND && lane.head === endOf(lane)
  if (drop) await trimSegments(engine, record, priority, lane, { from: lane.trimmed, to })
  return { priority, epoch: lane.epoch, tailTo, drop }
}

async function eachOf(segments: Range, each: (segment: number) => Promise<void>): Promise<void> {
  for (let from = segments.from; from < segments.to; from += SEGMENTS_AT_ONCE) {
    const to = Math.min(segments.to, from + SEGMENTS_AT_ONCE)
    await Promise.all(Array.from({ length: to - from }, (_, index) => each(from + index)))
  }
}

/** Leaves a timer for the sweeper. Lowering `checkAt` is right at any version. */
export async function lookAgain(engine: Engine, queue: string): Promise<void> {
  const atMs = engine.clock.nowMs() + HOUSEKEEPING_RETRY_MS
  await engine.dynamo.update(recordKey(queue), checkAtUpdate(atMs)).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'look-again' })
  })
}

const gone = (record: QueueRecord, priority: number, sequence: number): Error =>
  new Error(
    `Item ${sequence} of priority ${priority} in queue "${record.queue}" is not where version ${record.version} says`,
  )
