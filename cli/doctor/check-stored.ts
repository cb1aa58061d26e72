// Whether everything is stored that a record says is stored: items in lanes, items for later, objects of segments. The
// queue goes on meanwhile: housekeeping moves items and consumers settle them. So something counts as missing only if
// several looks at an unchanged record do not find it.

import type { Row } from '../../aws/dynamo.ts'
import { decodeReference, isReference } from '../../engine/core/item.ts'
import { segmentObjectKey } from '../../engine/core/keys.ts'
import { decodeScheduled, indexesLeft, type ScheduledEntry } from '../../engine/core/later.ts'
import { countOf, includes, intersect, normalised, type Range } from '../../engine/core/ranges.ts'
import {
  endOf,
  type Lane,
  type QueueRecord,
  type Scheduled,
  segmentOf,
  unsettledIn,
} from '../../engine/core/record.ts'
import type { Engine } from '../../engine/driver/engine.ts'
import { BatchParts } from '../../engine/requests/batches.ts'
import { behind, partitionOf, scheduledRows } from '../../engine/requests/later-rows.ts'
import { timeText } from '../text.ts'
import { miscounted } from './check-record.ts'
import { type Finding, ofRecord } from './finding.ts'

/** If so many reads at one version do not find an item, nobody is moving it: it is not there. */
const LOOKS = 3
/** The most looks at a queue that changes all the time. */
const LOOKS_AT_ITEMS_MAX = 20
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
      const missing = await missingItems(engine, record, priority, lane, range)
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
async function missingItems(
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
  for (let all = 0; missing.length > 0 && all < LOOKS_AT_ITEMS_MAX && looks < LOOKS; all += 1) {
    const record = await engine.records.read(queue)
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
  const now = (await engine.records.read(queue))?.lanes.get(priority)
  const isTrimmed = now?.epoch !== lane.epoch || segment < segmentOf(now, now.head)
  return isTrimmed ? [] : [{ kind: 'missing-object', priority, segment, key }]
}

/**
 * The most looks at a queue whose scheduled items change all the time: each reads all of its rows. One look proves
 * nothing, because a read may show a transaction's record before its rows, mostly for milliseconds.
 */
const LOOKS_AT_ROWS_MAX = 6
/** Rows of scheduled items that we ask for at once. */
const ROWS_PER_QUERY = 100

type LaterCheck = {
  readonly findings: readonly Finding[]
  /** References to batches of scheduled items: nothing else may point to these. */
  readonly references: readonly Row[]
  /** Undefined if the rows changed during each look. */
  readonly found: number | undefined
}

/** Adds up entries as the doctor comes to them. */
type Look = {
  /** Items that the entries stand for, and those of them whose batches are not there. */
  listed: number
  readonly missing: Extract<Finding, { kind: 'missing-scheduled' }>[]
  readonly references: Row[]
  readonly batches: BatchParts
}

/**
 * Counts the scheduled items: those in the record, in its rows and in their batches. Every write that changes a row
 * raises `changes`. So what we read between two records that agree on it belongs to both.
 */
export async function checkLater(
  engine: Engine,
  first: QueueRecord,
  interrupt: AbortSignal,
): Promise<LaterCheck> {
  const references: Row[] = []
  let record = first
  let suspicious = 0
  for (let looks = 0; looks < LOOKS_AT_ROWS_MAX && !interrupt.aborted; looks += 1) {
    if (looks > 0) await engine.clock.sleep(LOOK_AGAIN_MS)
    const look: Look = {
      listed: 0,
      missing: [],
      references,
      batches: new BatchParts(engine, engine.segments),
    }
    const firstDue = await readRows(engine, record, look, interrupt)
    const after = await engine.records.read(first.queue)
    // The queue has become empty, and was forgotten.
    if (after === undefined) return { findings: [], references, found: 0 }
    const isSame = rowsOf(after) === rowsOf(record)
    record = after
    if (!isSame) {
      suspicious = 0
      continue
    }
    await note(look, after, after.scheduled.entries)
    const sentences = [...wrongIn(after.scheduled, look.listed, firstDue)]
    const findings = [...sentences.map(ofRecord), ...look.missing]
    const found = look.missing.reduce((left, { items }) => left - items, look.listed)
    if (findings.length > 0) suspicious += 1
    if (findings.length === 0 || suspicious === LOOKS) return { findings, references, found }
  }
  return { findings: [], references, found: undefined }
}

/** Two records for which this is the same have the same rows. */
const rowsOf = ({ born, scheduled }: QueueRecord): string =>
  `${born}.${scheduled.era}.${scheduled.changes}`

function* wrongIn(
  { items, nextDue = Number.POSITIVE_INFINITY }: Scheduled,
  listed: number,
  firstDue: number | undefined,
): Generator<string> {
  if (items !== listed) yield miscounted(items, 'scheduled items', listed)
  if (firstDue !== undefined && nextDue > firstDue) {
    yield `items are due at ${timeText(1_000 * firstDue)}, and it does not know of any so early`
  }
}

/** Returns when the first row is due. A record without `nextDue` has none, but then we look for lost ones. */
async function readRows(
  engine: Engine,
  record: QueueRecord,
  look: Look,
  interrupt: AbortSignal,
): Promise<number | undefined> {
  // Nothing was ever scheduled here.
  if (record.scheduled.changes === 0) return undefined
  const partition = partitionOf(record)
  let firstDue: number | undefined
  for (let from = ''; !interrupt.aborted; ) {
    const query = { from, limit: ROWS_PER_QUERY }
    const { rows, more } = await scheduledRows(engine.dynamo, partition, query)
    for (const { due, entries } of rows) {
      firstDue ??= due
      await note(look, record, entries)
    }
    const last = rows.at(-1)
    if (!more || last === undefined) break
    from = behind(last.sk)
  }
  return firstDue
}

async function note(look: Look, { queue }: QueueRecord, entries: readonly string[]): Promise<void> {
  for (const entry of entries.map(decodeScheduled)) {
    look.listed += indexesLeft(entry).length
    if (!isReference(entry.entry)) continue
    look.references.push({ b: entry.entry })
    const items = await missingOf(look.batches, queue, entry)
    if (items === 0) continue
    const { due, priority } = entry
    const { batch } = decodeReference(entry.entry)
    look.missing.push({ kind: 'missing-scheduled', batch, priority, due, items })
  }
}

/** How many of an entry's items are in parts of its batch that are not there. */
async function missingOf(
  batches: BatchParts,
  queue: string,
  entry: ScheduledEntry,
): Promise<number> {
  const reference = decodeReference(entry.entry)
  const inPart = Map.groupBy(indexesLeft(entry), (index = 0) =>
    Math.floor(index / reference.partItems),
  )
  let missing = 0
  for (const [part, indexes] of inPart) {
    const there = await batches.read(queue, reference, part)
    if (there === undefined) missing += indexes.length
  }
  return missing
}
