// Rows and objects to which nothing points, and whether the doctor may delete them (docs/architecture.md, rule 1):
// decided from a record that it read after it saw the row or object, and read once more right before it deletes.

import type { Row } from '../../aws/dynamo.ts'
import { decodeReference, isReference } from '../../engine/core/item.ts'
import { parseChunkSortKey, scheduledPartition } from '../../engine/core/keys.ts'
import { decodeScheduled, purgedEra } from '../../engine/core/later.ts'
import { type Lane, newLane, type QueueRecord } from '../../engine/core/record.ts'
import type { Engine } from '../../engine/driver/engine.ts'
import { deleteBatch } from '../../engine/requests/batches.ts'
import { rowOf as scheduledRowOf } from '../../engine/requests/later-rows.ts'
import { deleteRows } from '../../engine/storing/keep-segments.ts'
import type { Stray } from './finding.ts'

/**
 * A batch is written before the append that refers to it, and an entry for somebody's own
 * transaction may wait before it is sent: nobody keeps one for as long as this.
 */
const BATCH_SAFE_AGE_MS = 7 * 24 * 60 * 60 * 1000

type Seen = {
  /** Rows of the whole table, if the doctor looked through it. */
  readonly rows: readonly Row[]
  readonly objects: readonly FoundObject[]
  /** Rows of the record's own segments, read after the record: a tail is sealed while this looks. */
  readonly rowsAfter: readonly Row[]
}

type SegmentPlace = {
  readonly epoch: string
  readonly priority: number
  readonly segment: number
}

export function straysOf(
  queue: string,
  record: QueueRecord | undefined,
  seen: Seen,
  nowMs: number,
) {
  const known = referredTo(record, [...seen.rows, ...seen.rowsAfter])
  return [
    ...rowStrays(queue, record, seen.rows, known),
    ...seen.objects.flatMap((object) => objectStray(queue, record, object, known, nowMs)),
  ]
}

/** Batches that a tail or a row refers to, of any lane: more than need be, never fewer. */
function referredTo(record: QueueRecord | undefined, rows: readonly Row[]): ReadonlySet<string> {
  const tails = [...(record?.lanes.values() ?? [])].flatMap(({ tail }) => tail)
  const later = record?.scheduled.entries.map((entry) => decodeScheduled(entry).entry) ?? []
  const entries = [...tails, ...later]
  const inRows = rows.flatMap(({ b }) => (typeof b === 'string' ? [b] : []))
  return new Set([...entries.filter(isReference), ...inRows].map((entry) => entry.slice(2, 10)))
}

function rowStrays(
  queue: string,
  record: QueueRecord | undefined,
  rows: readonly Row[],
  known: ReadonlySet<string>,
): Stray[] {
  const strays = new Map<string, Stray>()
  for (const row of rows) {
    const at = row.pk as string
    if (at.startsWith(`b#${queue}#`)) {
      const batch = at.slice(`b#${queue}#`.length)
      if (known.has(batch)) continue
      // Its items' times say when they were pushed first, which for moved ones is long before.
      const why = 'nothing refers to it; it may be a push under way, and its age is unknown'
      strays.set(at, { kind: 'stray-batch', at, why, repairable: false })
      continue
    }
    if (at.startsWith(`t#${queue}#`)) {
      if (isOfRecord(at, record)) continue
      const why = 'its scheduled items were purged, or their queue was forgotten'
      strays.set(at, { kind: 'stray-rows', at, why, repairable: true })
      continue
    }
    const place = placeOf(at.slice(`s#${queue}#`.length).split('#'))
    const why = place && whyStray(place, record, parseChunkSortKey(row.sk as string).to)
    if (why) strays.set(at, { kind: 'stray-rows', at, why, repairable: true })
  }
  return [...strays.values()]
}

function objectStray(
  queue: string,
  record: QueueRecord | undefined,
  { key, modifiedMs }: FoundObject,
  known: ReadonlySet<string>,
  nowMs: number,
): Stray[] {
  const parts = key.slice(queue.length + 1).split('/')
  if (parts[0] === 'batch' && parts.length === 2) {
    if (known.has(parts[1] as string)) return []
    // Items for later may have been pushed years ago, and may join their lane while this looks.
    const isForLater = (record?.scheduled.items ?? 0) > 0
    const repairable = !isForLater && nowMs - modifiedMs > BATCH_SAFE_AGE_MS
    const why = repairable
      ? 'nothing refers to it, and it is older than any push'
      : isForLater
        ? 'nothing refers to it; it may be of items for later'
        : 'nothing refers to it; it may be a push under way, for it is younger than a week'
    return [{ kind: 'stray-batch', at: key, why, repairable }]
  }
  const place = placeOf(parts)
  const why = place && whyStray(place, record, 0)
  return why ? [{ kind: 'stray-object', at: key, why, repairable: true }] : []
}

/**
 * Rows of scheduled items that the record knows, or of a purge that is still at work. A queue that was made again
 * has its rows elsewhere, and so has one that was purged.
 */
function isOfRecord(partition: string, record: QueueRecord | undefined): boolean {
  if (record === undefined) return false
  const { queue, born, scheduled } = record
  const eras = [scheduled.era, ...scheduled.purged.map((mark) => purgedEra(mark).era)]
  return eras.some((era) => partition === scheduledPartition(queue, born, era))
}

export function placeOf(parts: readonly string[]): SegmentPlace | undefined {
  const [epoch, priority, segment] = parts
  if (parts.length !== 3 || epoch === undefined) return undefined
  return { epoch, priority: Number(priority), segment: Number(segment) }
}

/**
 * Neither reason can cease to hold: an epoch is random and never comes again, and trimmed segments lie behind the head.
 * `to` is the row's own end, because a segment's number alone says nothing.
 */
function whyStray(
  { epoch, priority, segment }: SegmentPlace,
  record: QueueRecord | undefined,
  to: number,
): string | undefined {
  const lane = record?.lanes.get(priority)
  if (lane?.epoch !== epoch) return 'its lane is gone'
  return isTrimmed(lane, segment, to) ? 'its segment was trimmed' : undefined
}

const isTrimmed = (lane: Lane, segment: number, to: number): boolean =>
  segment < lane.trimmed && to <= lane.head && (segment + 1) * lane.segmentSize <= lane.head

export type FoundObject = { readonly key: string; readonly modifiedMs: number }

/**
 * Deletes strays that nothing can ever ask for again. Right before each partition, a strong read of the record says
 * once more that we may: that cannot have changed, but it catches a mistake of ours.
 */
export async function repair(engine: Engine, queue: string, strays: readonly Stray[]) {
  let repaired = 0
  for (const { kind, at, repairable } of strays) {
    if (!repairable) continue
    if (kind === 'stray-rows') await deleteStrayRows(engine, queue, at)
    else await engine.objects.deleteMany([at])
    repaired += 1
  }
  return repaired
}

async function deleteStrayRows(engine: Engine, queue: string, pk: string): Promise<void> {
  if (pk.startsWith('t#')) {
    if (isOfRecord(pk, await engine.records.read(queue))) return
    const rows = await rowsOf(engine, pk)
    // First the batches, which only these rows name.
    for (const entry of rows.flatMap((row) => scheduledRowOf(row).entries)) {
      const batch = decodeScheduled(entry).entry
      if (!isReference(batch)) continue
      const reference = decodeReference(batch)
      await deleteBatch(engine, queue, reference)
    }
    await engine.dynamo.deleteMany(rows.map(({ sk }) => ({ pk, sk: sk as string })))
    return
  }
  const place = placeOf(pk.slice(`s#${queue}#`.length).split('#'))
  if (place === undefined) return
  const rows = await rowsOf(engine, pk)
  const lane = behind(place, await engine.records.read(queue))
  if (lane === undefined) return
  const settled = rows.filter(({ sk }) => endOfRow(sk as string) <= lane.head)
  // Also deletes parts of batches to which only these rows point, as trimming does.
  await deleteRows(engine, queue, lane, settled)
}

/** A lane whose head is behind all that may go; of a lane that is gone, that is everything. */
function behind(place: SegmentPlace, record: QueueRecord | undefined): Lane | undefined {
  const lane = record?.lanes.get(place.priority)
  if (lane?.epoch !== place.epoch) {
    return {
      ...newLane({ priority: place.priority, epoch: place.epoch, segmentSize: 100 }),
      head: Number.POSITIVE_INFINITY,
    }
  }
  return place.segment < lane.trimmed ? lane : undefined
}

const endOfRow = (sk: string): number => Number(sk.split('-')[1])

/**
 * A few more pages of a megabyte than the largest segment can have. Of a longer partition, the doctor's next run finds
 * the rest.
 */
const PARTITION_PAGES_MAX = 300

/** All rows of a partition, as they are now. */
export async function rowsOf(engine: Engine, pk: string): Promise<Row[]> {
  const rows: Row[] = []
  let from: Row | undefined
  for (let page = 0; page < PARTITION_PAGES_MAX; page += 1) {
    const found = await engine.dynamo.query({
      KeyConditionExpression: 'pk=:p',
      ExpressionAttributeValues: { ':p': pk },
      ConsistentRead: true,
      ...(from !== undefined && { ExclusiveStartKey: from }),
    })
    rows.push(...found.rows)
    if (found.next === undefined) break
    from = found.next
  }
  return rows
}
