import { decodeReference, isReference } from '../../engine/core/item.ts'
import { decodeScheduled } from '../../engine/core/later.ts'
import type { Lane, QueueRecord } from '../../engine/core/record.ts'
import { newLane } from '../../engine/core/record.ts'
import { type Engine, readRecord } from '../../engine/driver/engine.ts'
import { deleteBatch } from '../../engine/requests/batches.ts'
import { rowOf as scheduledRowOf } from '../../engine/requests/later-rows.ts'
import { deleteRows } from '../../engine/storing/keep-segments.ts'
import type { Stray } from './finding.ts'
import { rowsOf } from './rows-of.ts'
import { isOfRecord, placeOf, type SegmentPlace } from './strays.ts'

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
    if (isOfRecord(pk, await readRecord(engine, queue))) return
    const rows = await rowsOf(engine, pk)
    // First the batches, which only these rows name.
    for (const entry of rows.flatMap((row) => scheduledRowOf(row).entries)) {
      const batch = decodeScheduled(entry).entry
      if (!isReference(batch)) continue
      await deleteBatch(engine, queue, decodeReference(batch))
    }
    await engine.dynamo.deleteMany(rows.map(({ sk }) => ({ pk, sk: sk as string })))
    return
  }
  const place = placeOf(pk.slice(`s#${queue}#`.length).split('#'))
  if (place === undefined) return
  const rows = await rowsOf(engine, pk)
  const lane = behind(place, await readRecord(engine, queue))
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
