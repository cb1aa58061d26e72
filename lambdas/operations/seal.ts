import { fenced } from '../core/fence.ts'
import { parseChunkSortKey } from '../core/keys.ts'
import { type QueueRecord, segmentOf } from '../core/record.ts'
import { planSeal, type Seal, sealed } from '../core/seal.ts'
import type { Row } from '../store/dynamo.ts'
import { chunkRows, keyOfRow } from '../store/segments.ts'
import { commit, type Engine, newMark } from './engine.ts'

/** Losing to another fenced write costs one round trip; after this many, another has sealed. */
const ATTEMPTS_MAX = 4

/**
 * Copies the tail out into chunk rows, then takes exactly that prefix off it. Rows that a lost race
 * leaves behind are true all the same, and nobody deletes them before their time (rule 1).
 * Returns how many entries were sealed.
 */
export async function seal(engine: Engine, seen: QueueRecord): Promise<number> {
  let record: QueueRecord | undefined = seen
  for (let attempt = 1; attempt <= ATTEMPTS_MAX && record !== undefined; attempt += 1) {
    const { queue } = record
    const seals = planSeal(record)
    if (seals.length === 0) return 0
    const rows = seals.map((part) => chunkRows(queue, part.priority, part.lane, part.entries))
    await engine.dynamo.putMany(rows.flat())
    const draft = sealed(record, seals)
    const nowMs = engine.clock.nowMs()
    const committed = await commit(engine, fenced(record, draft, { nowMs, mark: newMark(engine) }))
    if (committed.kind === 'committed') {
      return seals.reduce((sum, { entries }) => sum + entries.length, 0)
    }
    record = committed.kind === 'lost' ? committed.current : undefined
    const late = rows.flatMap((some, index) => lateIn(record, seals[index] as Seal, some))
    if (committed.kind === 'lost') await engine.dynamo.deleteMany(late.map(keyOfRow))
  }
  return 0
}

/** Rows that came when their segment had been trimmed already: nobody else will delete them. */
function lateIn(current: QueueRecord | undefined, seal: Seal, rows: readonly Row[]): Row[] {
  const lane = current?.lanes.get(seal.priority)
  if (lane?.epoch !== seal.lane.epoch) return [...rows]
  return rows.filter(
    (row) => segmentOf(lane, parseChunkSortKey(row.sk as string).from) < lane.trimmed,
  )
}
