import { fenced } from '../core/fence.ts'
import type { QueueRecord } from '../core/record.ts'
import { planSeal, sealed } from '../core/seal.ts'
import { chunkRows } from '../store/segments.ts'
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
    await engine.dynamo.putMany(
      seals.flatMap(({ priority, lane, entries }) => chunkRows(queue, priority, lane, entries)),
    )
    const draft = sealed(record, seals)
    const nowMs = engine.clock.nowMs()
    const committed = await commit(engine, fenced(record, draft, { nowMs, mark: newMark(engine) }))
    if (committed.kind === 'committed') {
      return seals.reduce((sum, { entries }) => sum + entries.length, 0)
    }
    record = committed.kind === 'lost' ? committed.current : undefined
  }
  return 0
}
