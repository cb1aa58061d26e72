import { segmentObjectKey } from '../../engine/core/keys.ts'
import { countOf, includes, intersect, normalised, type Range } from '../../engine/core/ranges.ts'
import {
  endOf,
  type Lane,
  type QueueRecord,
  segmentOf,
  unsettledIn,
} from '../../engine/core/record.ts'
import { type Engine, readRecord } from '../../engine/driver/engine.ts'
import type { Finding } from './finding.ts'

/** If so many reads at one version do not find an item, nobody is moving it: it is not there. */
const LOOKS = 3
/** The most looks at a queue that changes all the time. */
const LOOKS_MAX = 20
const LOOK_AGAIN_MS = 50

type ItemCheck = { readonly findings: readonly Finding[]; readonly itemsFound: number }

/** Reads every item that the record says is stored, wherever it says that it is. */
export async function checkItems(
  engine: Engine,
  record: QueueRecord,
  onSegment: (done: number, total: number) => void,
  interrupt: AbortSignal,
): Promise<ItemCheck> {
  const findings: Finding[] = []
  const lost = new Map<number, Range[]>()
  let itemsFound = 0
  const segments = [...record.lanes].flatMap(([priority, lane]) => segmentsOf(priority, lane))
  for (const [index, { priority, lane, segment, ranges }] of segments.entries()) {
    if (interrupt.aborted) break
    for (const range of ranges) {
      const missing = await missingIn(engine, record, priority, lane, range)
      itemsFound += range.to - range.from - countOf(missing)
      lost.set(priority, [...(lost.get(priority) ?? []), ...missing])
    }
    const isRecalled = lane.offloaded.from <= segment && segment < lane.offloaded.to
    if (isRecalled && segment < lane.recalled) {
      findings.push(...(await objectMissing(engine, record.queue, priority, lane, segment)))
    }
    onSegment(index + 1, segments.length)
  }
  // Joined over the ends of segments: missing items are often missing for one reason.
  for (const [priority, ranges] of lost) {
    for (const { from, to } of normalised(ranges)) {
      findings.push({ kind: 'missing-items', priority, from, to })
    }
  }
  return { findings, itemsFound }
}

type SegmentItems = {
  readonly priority: number
  readonly lane: Lane
  readonly segment: number
  readonly ranges: readonly Range[]
}

function segmentsOf(priority: number, lane: Lane): SegmentItems[] {
  const segments: SegmentItems[] = []
  const last = segmentOf(lane, Math.max(lane.head, endOf(lane) - 1))
  for (let segment = segmentOf(lane, lane.head); segment <= last; segment += 1) {
    const own = { from: segment * lane.segmentSize, to: (segment + 1) * lane.segmentSize }
    segments.push({ priority, lane, segment, ranges: intersect(unsettledIn(lane), [own]) })
  }
  return segments
}

/** The numbers that were stored a moment ago, still are, and cannot be read. */
async function missingIn(
  engine: Engine,
  record: QueueRecord,
  priority: number,
  lane: Lane,
  { from, to }: Range,
): Promise<Range[]> {
  const suspects: number[] = []
  for (let next = from; next < to; ) {
    const read = await engine.items.read(record, [{ priority, from: next, to }])
    if (read.kind === 'read') break
    suspects.push(read.sequence)
    next = read.sequence + 1
  }
  const missing = await confirmed(engine, record.queue, priority, lane.epoch, suspects)
  return missing.map((sequence) => ({ from: sequence, to: sequence + 1 }))
}

/** Housekeeping moves items while this looks, and consumers settle them: each look reads the record again. */
async function confirmed(
  engine: Engine,
  queue: string,
  priority: number,
  epoch: string,
  suspects: readonly number[],
): Promise<readonly number[]> {
  let missing = suspects
  let seen: QueueRecord | undefined
  let looks = 0
  for (let all = 0; missing.length > 0 && all < LOOKS_MAX && looks < LOOKS; all += 1) {
    const record = await readRecord(engine, queue)
    const lane = record?.lanes.get(priority)
    if (record === undefined || lane?.epoch !== epoch) return []
    const stored = unsettledIn(lane)
    const still: number[] = []
    for (const sequence of missing) {
      const stretch = { priority, from: sequence, to: sequence + 1 }
      if (!includes(stored, sequence)) continue
      if ((await engine.items.read(record, [stretch])).kind === 'missing') still.push(sequence)
    }
    missing = still
    looks = seen?.version === record.version ? looks + 1 : 1
    seen = record
    await engine.clock.sleep(LOOK_AGAIN_MS)
  }
  return missing
}

/** A recalled segment is read from rows; its object stays there until it is trimmed. */
async function objectMissing(
  engine: Engine,
  queue: string,
  priority: number,
  lane: Lane,
  segment: number,
): Promise<Finding[]> {
  const key = segmentObjectKey(queue, lane.epoch, priority, segment)
  if ((await engine.objects.get(key)) !== undefined) return []
  const now = (await readRecord(engine, queue))?.lanes.get(priority)
  const isTrimmed = now?.epoch !== lane.epoch || segment < segmentOf(now, now.head)
  return isTrimmed ? [] : [{ kind: 'missing-object', priority, segment, key }]
}
