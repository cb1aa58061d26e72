import { decodeReference, isReference, spanOf } from '../../../../engine/core/item.ts'
import { segmentObjectKey, segmentPartition } from '../../../../engine/core/keys.ts'
import {
  countOf,
  includes,
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
} from '../../../../engine/core/ranges.ts'
import { type Lane, segmentOf, unsettledIn } from '../../../../engine/core/record.ts'
import { RUNS_MAX } from '../../../../engine/core/runs.ts'
import { laneView } from '../../../../engine/core/views.ts'
import { batchPart, type ChunkRow, hasBatchPart } from './rows.ts'
import { type Kept, showRanges } from './snapshot.ts'

const objectsRead = new WeakMap<Uint8Array, string>()

/**
 * Every unsettled item can be read where the record says it is, and every segment that the record
 * points to is in S3 and holds exactly its items.
 */
export function checkReadable(kept: Kept, within: Ranges): void {
  const { lane } = kept
  const unsettled = intersect(unsettledIn(lane), normalised(within))
  if (unsettled.length === 0) return
  for (const { from, to } of unsettled) {
    const sealedTo = Math.min(to, lane.sealed)
    for (let n = from; n < sealedTo; ) {
      const segment = segmentOf(lane, n)
      const end = Math.min(sealedTo, (segment + 1) * lane.segmentSize)
      checkStretch(kept, segment, { from: n, to: end })
      n = end
    }
  }
  checkTailReferences(kept, unsettled)
  checkStored(kept, unsettled)
}

function checkStretch(kept: Kept, segment: number, stretch: Range): void {
  const { model, log, lane } = kept
  const { offloaded, recalled } = lane
  const isOffloaded = offloaded.from <= segment && segment < offloaded.to
  if (isOffloaded) checkObject(kept, segment)
  if (isOffloaded && segment >= recalled) return
  const pk = segmentPartition(log.queue, log.epoch, log.priority, segment)
  const covered = model.rows.chunks(pk).flatMap((chunk) => coveredBy(kept, chunk))
  const missing = subtract([stretch], normalised(covered))
  if (missing.length > 0) {
    const what = `${showRanges(missing)} of ${pk} have no rows${isOffloaded ? ' (recalled)' : ''}`
    model.violated('every unsettled item is readable', what)
  }
}

/** The numbers that can be read by a row, which must agree with the log. */
function coveredBy(kept: Kept, chunk: ChunkRow): Ranges {
  const { places } = kept.log
  const { from, to, entries, reference } = chunk
  if (entries === undefined) {
    if (reference === undefined) return []
    return coveredByBatch(kept, reference.entry, from - reference.index, chunk)
  }
  if (entries.length !== to - from) sayFalse(kept, chunk, 'its length')
  for (const [i, entry] of entries.entries()) {
    if (places[from + i]?.entry !== entry) sayFalse(kept, chunk, `number ${from + i}`)
  }
  return [chunk]
}

/** Of [from, to), what lies in parts of the batch that are there. */
function coveredByBatch(kept: Kept, entry: string, start: number, { from, to }: Range): Ranges {
  const { model, log } = kept
  const reference = decodeReference(entry)
  const { partItems } = reference
  const covered: Range[] = []
  const last = Math.floor((to - 1 - start) / partItems)
  for (let part = Math.floor((from - start) / partItems); part <= last; part += 1) {
    const its = { queue: log.queue, reference, part }
    if (!hasBatchPart(model, its)) continue
    const first = start + part * partItems
    covered.push({ from: Math.max(from, first), to: Math.min(to, first + partItems) })
    const isTrue =
      reference.storage === 's3' || log.places[first]?.entry === batchPart(model, its)?.[0]
    if (!isTrue) sayFalse(kept, { from, to }, entry)
  }
  return normalised(covered)
}

function checkObject({ model, log, lane }: Kept, segment: number): void {
  const key = segmentObjectKey(log.queue, log.epoch, log.priority, segment)
  const bytes = model.world.store.objects.bytes(key)
  if (bytes === undefined) {
    model.violated('every pointer has its object', `${key} is not in S3`)
    return
  }
  if (objectsRead.get(bytes) === key) return
  const entries = model.rows.unpacked(bytes)
  const from = segment * lane.segmentSize
  const whole = entries.length === lane.segmentSize
  if (!whole || entries.some((entry, i) => log.places[from + i]?.entry !== entry)) {
    model.violated('every pointer has its object', `${key} holds other items`)
  }
  objectsRead.set(bytes, key)
}

function checkTailReferences(kept: Kept, unsettled: Ranges): void {
  const { model, log, lane } = kept
  let start = lane.sealed
  for (const entry of lane.tail) {
    const end = start + spanOf(entry)
    for (const stretch of isReference(entry)
      ? intersect(unsettled, [{ from: start, to: end }])
      : []) {
      const missing = subtract([stretch], coveredByBatch(kept, entry, start, stretch))
      if (missing.length === 0) continue
      const which = `${showRanges(missing)} of ${log.queue} lane ${log.priority}`
      model.violated('every unsettled item is readable', `${which} have no batch ${entry}`)
    }
    start = end
  }
}

function sayFalse({ model, log }: Kept, { from, to }: Range, what: string): void {
  const where = `a row [${from},${to}) of ${log.queue} lane ${log.priority}`
  model.violated('a sequence number never changes its item', `${where} says otherwise: ${what}`)
}

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
  if (!queueModel.isWide && stored.length < TOLD_MAX && countOf(told) > 0) {
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
  const chunks = model.rows.chunks(segmentPartition(...at)).filter((one) => includes([one], n))
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
function entryInTail(lane: Lane, n: number) {
  let from = lane.sealed
  for (const entry of lane.tail) {
    const to = from + spanOf(entry)
    const reference = isReference(entry) ? entry : null
    if (from <= n && n < to) return { reference, index: n - from }
    from = to
  }
  return undefined
}
