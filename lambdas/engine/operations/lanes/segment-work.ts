import type { Row } from '../../../foundation/dynamo.ts'
import { type BatchReference, decodeReference, spanOf } from '../../core/entry.ts'
import { parseChunkSortKey, segmentObjectKey } from '../../core/keys.ts'
import { isSpent, type LaneWork, settledReferences } from '../../core/pointers.ts'
import type { Range } from '../../core/ranges.ts'
import { type Lane, type QueueRecord, segmentOf } from '../../core/record.ts'
import { deleteBatchParts, partsIn } from '../../store/batches.ts'
import type { ItemsRead } from '../../store/items.ts'
import { recalledRows } from '../../store/segment-rows.ts'
import { keyOfRow, putSegmentObject, referencesIn, segmentRows } from '../../store/segments.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'

/*
 * What housekeeping does to segments: it copies and deletes, and none of that moves a pointer. A copy
 * stays true for ever; a delete has a permission that nothing can withdraw (rule 1).
 */

type Missing = Extract<ItemsRead, { kind: 'missing' }>

/** A segment of large items is tens of megabytes, and twice that while it is copied. */
const SEGMENTS_AT_ONCE = 2

export async function copySegment(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  segment: number,
): Promise<void> {
  const from = segment * lane.segmentSize
  const stretch = { priority: lane.priority, from, to: from + lane.segmentSize }
  await engine.segments.offload(record.queue, async () => {
    const read = await engine.items.read(record, [stretch])
    if (read.kind === 'missing') throw gone(record, read)
    await putSegmentObject(engine.objects, record.queue, lane, segment, read.entries)
  })
}

export async function recallSegment(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  segment: number,
): Promise<void> {
  const from = segment * lane.segmentSize
  const stretch = { priority: lane.priority, from, to: from + lane.segmentSize }
  const read = await engine.items.read(record, [stretch])
  if (read.kind === 'missing') throw gone(record, read)
  const rows = recalledRows(record.queue, lane, segment, read.entries)
  await engine.dynamo.putMany(rows)
}

/** Deletes the originals of segments that this write marked as offloaded: their object stays until they are trimmed. */
export async function deleteOriginals(
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

export function newlyOffloaded(before: Lane, after: Lane): number[] {
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
  const current = await readRecord(engine, planned.queue)
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

/**
 * Deletes the parts of these segments that lie wholly behind `behind`, which must be a head (rule 1). In
 * a drained lane the last segment is not full, and it may be growing again meanwhile.
 */
export async function trimSegments(
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
export function settledParts(lane: Lane): { parts: BatchReference[]; goneTo: number } {
  const found = settledReferences(lane)
  const last = found.at(-1)
  return {
    parts: found.map(({ entry }) => decodeReference(entry)),
    goneTo: last === undefined ? lane.sealed : last.start + spanOf(last.entry),
  }
}

export async function deleteParts(
  engine: Engine,
  queue: string,
  references: readonly BatchReference[],
): Promise<void> {
  for (const reference of references) {
    const parts = [...Array(partsIn(reference)).keys()]
    await deleteBatchParts(engine, queue, reference, parts)
  }
}

export async function eachOf(
  segments: Range,
  each: (segment: number) => Promise<void>,
): Promise<void> {
  for (let from = segments.from; from < segments.to; from += SEGMENTS_AT_ONCE) {
    const to = Math.min(segments.to, from + SEGMENTS_AT_ONCE)
    // Wait for all of them, so that none lands after the clean-up.
    const ends = await Promise.allSettled(
      Array.from({ length: to - from }, (_, index) => each(from + index)),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}

const gone = (record: QueueRecord, { priority, sequence }: Missing): Error =>
  new Error(
    `Item ${sequence} of priority ${priority} in queue "${record.queue}" is not where version ${record.version} says`,
  )
