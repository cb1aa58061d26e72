import type { Row } from '../../aws/dynamo.ts'
import { decodeReference, isReference } from '../../engine/core/item.ts'
import { decodeScheduled, indexesLeft, type ScheduledEntry } from '../../engine/core/later.ts'
import type { QueueRecord, Scheduled } from '../../engine/core/record.ts'
import { type Engine, readRecord } from '../../engine/driver/engine.ts'
import { BatchParts } from '../../engine/requests/batches.ts'
import { behind, partitionOf, scheduledRows } from '../../engine/requests/later-rows.ts'
import { timeText } from '../arguments/time.ts'
import { miscounted } from './check-record.ts'
import { type Finding, ofRecord } from './finding.ts'

/** A read may show a transaction's record before its rows, mostly for milliseconds: so one look proves nothing. */
const LOOKS = 3
/** The most looks at a queue whose scheduled items change all the time: each reads all of its rows. */
const LOOKS_MAX = 6
const LOOK_AGAIN_MS = 50
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
  for (let looks = 0; looks < LOOKS_MAX && !interrupt.aborted; looks += 1) {
    if (looks > 0) await engine.clock.sleep(LOOK_AGAIN_MS)
    const look: Look = {
      listed: 0,
      missing: [],
      references,
      batches: new BatchParts(engine, engine.segments),
    }
    const firstDue = await readRows(engine, record, look, interrupt)
    const after = await readRecord(engine, first.queue)
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
    const items = await missingIn(look.batches, queue, entry)
    if (items === 0) continue
    const { due, priority } = entry
    const { batch } = decodeReference(entry.entry)
    look.missing.push({ kind: 'missing-scheduled', batch, priority, due, items })
  }
}

/** How many of an entry's items are in parts of its batch that are not there. */
async function missingIn(
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
