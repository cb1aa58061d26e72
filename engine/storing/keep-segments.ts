// What housekeeping does to segments. First it copies and deletes, and none of that moves a pointer: a copy stays true
// for ever, and a delete has a permission that nothing can withdraw (rule 1). Then one fenced write moves the pointers
// of all that is done. A run may die in between, or another may have done the same: what it did is done again, or is a
// stray. A copy that comes after its segment was trimmed is deleted again, because nobody else would do that.

import type { Row } from '../../aws/dynamo.ts'
import {
  type HousekeepingPlan,
  type HousekeepReport,
  isSpent,
  type LaneWork,
  movePointers,
  settledReferences,
} from '../core/housekeeping.ts'
import { type BatchReference, decodeReference, spanOf } from '../core/item.ts'
import { parseChunkSortKey, segmentObjectKey } from '../core/keys.ts'
import { SEGMENT_SIZE_DEFAULT } from '../core/limits.ts'
import { foldDone } from '../core/locks.ts'
import type { Range } from '../core/ranges.ts'
import { type Lane, type QueueRecord, segmentOf } from '../core/record.ts'
import { attempts } from '../driver/attempts.ts'
import { answer, asStored, done } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { deleteBatch, deleteBatchParts } from '../requests/batches.ts'
import {
  keyOfRow,
  putSegmentObject,
  recalledRows,
  referencesIn,
  segmentRows,
} from '../requests/segment-rows.ts'

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

/** Items whose segments one round works on, two dozen of an ordinary size. */
const ITEMS_PER_ROUND = 2_400
const LANES_PER_ROUND = 20

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

/** A segment of large items is tens of megabytes, and twice that while it is copied. */
const SEGMENTS_AT_ONCE = 2

async function eachOf(segments: Range, each: (segment: number) => Promise<void>): Promise<void> {
  for (let from = segments.from; from < segments.to; from += SEGMENTS_AT_ONCE) {
    const to = Math.min(segments.to, from + SEGMENTS_AT_ONCE)
    // Wait for all of them, so that none lands after the clean-up.
    const ends = await Promise.allSettled(
      Array.from({ length: to - from }, (_, index) => each(from + index)),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}

async function copySegment(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  segment: number,
): Promise<void> {
  await engine.segments.offload(record.queue, async () => {
    const entries = await itemsOf(engine, record, lane, segment)
    await putSegmentObject(engine.objects, record.queue, lane, segment, entries)
  })
}

async function recallSegment(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  segment: number,
): Promise<void> {
  const entries = await itemsOf(engine, record, lane, segment)
  const rows = recalledRows(record.queue, lane, segment, entries)
  await engine.dynamo.putMany(rows)
}

async function itemsOf(
  engine: Engine,
  record: QueueRecord,
  { priority, segmentSize }: Lane,
  segment: number,
): Promise<readonly string[]> {
  const from = segment * segmentSize
  const read = await engine.items.read(record, [{ priority, from, to: from + segmentSize }])
  if (read.kind === 'read') return read.entries
  throw new Error(
    `Item ${read.sequence} of priority ${priority} in queue "${record.queue}" is not where version ${record.version} says`,
  )
}

/**
 * Deletes the parts of these segments that lie wholly behind `behind`, which must be a head (rule 1). In
 * a drained lane the last segment is not full, and it may be growing again meanwhile.
 */
async function trimSegments(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  segments: Range,
  behind: number,
): Promise<void> {
  const objects: { segment: number; key: string }[] = []
  await eachOf(segments, async (segment) => {
    const rows = await segmentRows(engine.dynamo, record.queue, lane, segment, true)
    const settled = rows.filter((row) => parseChunkSortKey(row.sk as string).to <= behind)
    await deleteRows(engine, record.queue, { ...lane, head: Math.max(lane.head, behind) }, settled)
    if ((segment + 1) * lane.segmentSize > behind) return
    // Whether offloaded or not: there may be a copy whose pointer never moved, and S3 charges nothing for
    // deleting an object that does not exist.
    objects.push({
      segment,
      key: segmentObjectKey(record.queue, lane.epoch, lane.priority, segment),
    })
  })
  await deleteObjects(engine, record.queue, lane, objects)
}

/**
 * Objects of offloaded segments must go before the pointers move. Others are at most strays of a run that
 * died between a copy and its pointer: if S3 is out of reach, that is no reason to skip the trim.
 */
async function deleteObjects(
  engine: Engine,
  queue: string,
  lane: Lane,
  objects: readonly { readonly segment: number; readonly key: string }[],
): Promise<void> {
  const isOffloaded = ({ segment }: { segment: number }): boolean =>
    lane.offloaded.from <= segment && segment < lane.offloaded.to
  const deletion = engine.objects.deleteMany(objects.map(({ key }) => key))
  if (objects.some(isOffloaded)) return deletion
  await deletion.catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'delete-strays' })
  })
}

/** Deletes the parts of batches first: once the rows are gone, nothing points to those any more. */
export async function deleteRows(
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

/** The batches to which settled references at the front of the tail point. */
function settledParts(lane: Lane): { parts: BatchReference[]; goneTo: number } {
  const found = settledReferences(lane)
  const last = found.at(-1)
  return {
    parts: found.map(({ entry }) => decodeReference(entry)),
    goneTo: last === undefined ? lane.sealed : last.start + spanOf(last.entry),
  }
}

async function deleteParts(
  engine: Engine,
  queue: string,
  references: readonly BatchReference[],
): Promise<void> {
  for (const reference of references) await deleteBatch(engine, queue, reference)
}

const COMMITS_MAX = 8

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
    const change = engine.records.change(record, draft, { nowMs })
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

/** Deletes the originals of segments that this write marked as offloaded: their object stays until they are trimmed. */
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
          const rows = await segmentRows(engine.dynamo, after.queue, lane, segment, true)
          const originals = rows.filter((row) => !(row.sk as string).startsWith('r'))
          await deleteRows(engine, after.queue, lane, originals)
        }),
      )
    }
  }
}

function newlyOffloaded(before: Lane, after: Lane): number[] {
  const segments: number[] = []
  for (let n = after.offloaded.from; n < after.offloaded.to; n += 1) {
    if (n < before.offloaded.from || n >= before.offloaded.to) segments.push(n)
  }
  return segments
}

/**
 * Deletes copies of segments that the head has passed: housekeeping may have trimmed a segment before
 * its copy came, and then nobody else would delete the copy.
 */
export async function dropLateCopies(
  engine: Engine,
  planned: QueueRecord,
  work: readonly LaneWork[],
): Promise<void> {
  const copies = work.filter(({ offloaded, recalled }) => offloaded ?? recalled)
  if (copies.length === 0) return
  // Before we delete, we must read the record; an answer without it permits nothing.
  const current = await engine.records.read(planned.queue)
  for (const { priority, epoch, offloaded, recalled } of copies) {
    const now = current?.lanes.get(priority)
    const isThere = now?.epoch === epoch
    // Go by the lane as it is now: a row that we delete may be the last one to point to a batch, and the
    // plan does not know whether the rest of that batch is offloaded by now.
    const lane = isThere ? now : (planned.lanes.get(priority) as Lane)
    const passedTo = isThere ? segmentOf(now, now.head) : Number.POSITIVE_INFINITY
    // If the lane is gone, nobody needs any of its numbers.
    const behind = isThere ? now.head : Number.POSITIVE_INFINITY
    for (const segments of [offloaded, recalled]) {
      if (segments === undefined || segments.from >= passedTo) continue
      const late = { from: segments.from, to: Math.min(segments.to, passedTo) }
      await trimSegments(engine, planned, lane, late, behind)
    }
  }
}
