import { decodeReference, isReference, spanOf } from '../../../../lambdas/engine/core/entry.ts'
import {
  batchObjectKey,
  segmentObjectKey,
  segmentPartition,
} from '../../../../lambdas/engine/core/keys.ts'
import {
  countOf,
  intersect,
  none,
  normalised,
  type Ranges,
  subtract,
} from '../../../../lambdas/engine/core/ranges.ts'
import { type Lane, segmentOf } from '../../../../lambdas/engine/core/record.ts'
import { RUNS_MAX } from '../../../../lambdas/engine/core/runs.ts'
import { laneView } from '../../../../lambdas/engine/core/views.ts'
import { isOfTwoAges } from '../actors/callers/older-engine.ts'
import { type Kept, showRanges } from './lane-view.ts'
import type { Model } from './model.ts'
import { hasBatchPart } from './rows.ts'

/** As many stretches of a lane as an inspection tells. */
const TOLD_MAX = 200

/** What an inspection would tell now of these unsettled numbers: they lie there, and it leaves none out. */
export function checkStored(kept: Kept, unsettled: Ranges): void {
  const { model, log, lane } = kept
  const queueModel = model.queue(log.queue)
  const record = queueModel.current?.record
  if (record === undefined) return
  queueModel.isWide ||= record.lanes.size > RUNS_MAX
  const { stored, headOffloadedSegment, tailOffloadedSegment } = laneView(record, lane)
  let told = subtract(unsettled, joinedRuns(lane))
  for (const { in: place, ...stretch } of stored) {
    told = subtract(told, [stretch])
    for (const { from, to } of intersect(unsettled, [stretch])) {
      model.world.statistics.count(`told of ${place}`)
      for (let n = from; n < to; n += 1) {
        if (liesIn(kept, n, place)) continue
        model.violated('what an inspection tells is true', `${log.queue} ${n} is not in ${place}`)
        return
      }
    }
  }
  const mayLackSome = isOfTwoAges(model.world.seed) || queueModel.isWide
  if (!mayLackSome && stored.length < TOLD_MAX && countOf(told) > 0) {
    const which = `${showRanges(told)} of ${log.queue} lane ${log.priority}`
    model.violated('an inspection tells where everything lies', which)
  }
  if (headOffloadedSegment === undefined || tailOffloadedSegment === undefined) return
  const size = lane.segmentSize
  const middle = { from: headOffloadedSegment * size, to: (tailOffloadedSegment + 1) * size }
  const inS3 = stored.filter(({ in: place }) => place === 's3' || place === 'batch-s3')
  if (countOf(subtract([middle], inS3)) > 0) {
    model.violated('segments that are told to be in S3 are there', showRanges([middle]))
  }
}

/** Of them a record keeps too little to tell where they lie. */
const joinedRuns = ({ runs }: Lane): Ranges => {
  const joined = runs.filter(({ in: place }) => place === 'unknown' || place === 'batches')
  return joined.length === 0 ? none : normalised(joined)
}

/** Whether a number of a lane lies there, by the rows and objects themselves. */
function liesIn({ model, log, lane }: Kept, n: number, place: string): boolean {
  const { queue, epoch, priority } = log
  const at = [queue, epoch, priority, segmentOf(lane, n)] as const
  const isInObject = () => model.world.store.objects.bytes(segmentObjectKey(...at)) !== undefined
  if (place === 's3') return isInObject()
  const inTail = entryInTail(lane, n)
  if (place === 'record') return inTail?.reference === null
  const rows = [...(model.rows.partition(segmentPartition(...at))?.values() ?? [])]
  const chunks = rows
    .map((row) => model.rows.chunk(row))
    .filter(({ from, to }) => from <= n && n < to)
  const isInRow = (isRecalled: boolean) =>
    chunks.some(({ entries, recalled }) => entries && recalled === isRecalled)
  if (place === 'rows') return isInRow(false)
  if (place === 'recalled') return isInRow(true) && isInObject()
  const inBatches = chunks.flatMap(({ from, reference }) =>
    reference ? [{ reference: reference.entry, index: n - from + reference.index }] : [],
  )
  return [...inBatches, ...(inTail ? [inTail] : [])].some(({ reference: entry, index }) => {
    const reference = entry === null ? undefined : decodeReference(entry)
    if (reference?.storage !== (place === 'batch-s3' ? 's3' : 'rows')) return false
    const part = Math.floor(index / reference.partItems)
    return hasBatchPart(model, { queue, reference, part })
  })
}

/** Nothing for a number that is sealed. */
function entryInTail(
  lane: Lane,
  n: number,
): { reference: string | null; index: number } | undefined {
  let from = lane.sealed
  for (const entry of lane.tail) {
    const to = from + spanOf(entry)
    if (from <= n && n < to)
      return { reference: isReference(entry) ? entry : null, index: n - from }
    from = to
  }
  return undefined
}

/**
 * Rows and objects that no record leads to. A lane may keep those of the segment that its head is
 * in, and of later ones; with the lane they go too.
 */
export function findStrays(model: Model): string[] {
  const { rows, world } = model
  const known = new Set<string>()
  for (const { queue, current } of model.queues()) {
    const know = (entry: string): void => {
      const { batch } = decodeReference(entry)
      known.add(`b#${queue}#${batch}`).add(batchObjectKey(queue, batch))
    }
    if (current !== undefined && current.record.scheduled.purged.length > 0) {
      for (const pk of rows.partitions()) if (pk.startsWith(`t#${queue}#`)) known.add(pk)
    }
    for (const [priority, lane] of current?.record.lanes ?? []) {
      for (const entry of lane.tail) if (isReference(entry)) know(entry)
      const last = segmentOf(lane, lane.sealed)
      for (let segment = segmentOf(lane, lane.head); segment <= last; segment += 1) {
        const pk = segmentPartition(queue, lane.epoch, priority, segment)
        known.add(pk).add(segmentObjectKey(queue, lane.epoch, priority, segment))
        for (const row of rows.partition(pk)?.values() ?? []) {
          const { reference } = rows.chunk(row)
          if (reference !== undefined) know(reference.entry)
        }
      }
    }
  }
  const strays: string[] = []
  for (const pk of rows.partitions()) {
    if (!/^[sbt]#/.test(pk) || known.has(pk)) continue
    if (isOfTransaction(model, pk)) continue
    for (const sk of rows.partition(pk)?.keys() ?? []) strays.push(`${pk}/${sk}`)
  }
  for (const key of world.store.objects.keys()) {
    if (!known.has(key) && !isOfTransaction(model, key)) strays.push(`s3:${key}`)
  }
  return strays
}

/** The caller's transaction never came: this is documented, and the engine cannot know. */
function isOfTransaction({ batchWriters }: Model, place: string): boolean {
  const { verb } = batchWriters.get(place)?.command ?? {}
  return verb === 'pushTransactItem' || verb === 'transact'
}
