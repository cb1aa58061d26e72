import { fenced } from '../core/fence.ts'
import { parseChunkSortKey } from '../core/keys.ts'
import type { QueueRecord } from '../core/record.ts'
import { planSeal, type Seal, sealed } from '../core/seal.ts'
import type { Row } from '../store/dynamo.ts'
import { chunkRows } from '../store/segments.ts'
import { commit, type Engine, isThrottled, newMark, readRecord } from './engine.ts'
import { deleteRows } from './segment-work.ts'

/**
 * Rounds of one sealer. What fills the tail again while it seals is its to seal as well: whoever
 * else began would only collide with it. Two thirds of a second, then the next line that is crossed
 * calls the next.
 */
const ROUNDS_MAX = 64

/**
 * Copies the tail out into chunk rows, then takes exactly that prefix off it, until it is below its
 * soft cap. Who loses the fence to another sealer stops: someone is at work. It never backs off,
 * because all appends wait for the room it makes. Rows that a lost race leaves behind are true all the same,
 * and nobody deletes them before their time (rule 1). Returns how many entries were sealed.
 */
export async function seal(engine: Engine, seen: QueueRecord): Promise<number> {
  let record: QueueRecord | undefined = seen
  let entries = 0
  for (let round = 1; round <= ROUNDS_MAX && record !== undefined; round += 1) {
    const { queue } = record
    const seals = planSeal(record)
    if (seals.length === 0) break
    const rows = seals.map((part) => chunkRows(queue, part.priority, part.lane, part.entries))
    await engine.dynamo.putMany(rows.flat(), true)
    const nowMs = engine.clock.nowMs()
    const change = fenced(record, sealed(record, seals), { nowMs, mark: newMark(engine) })
    const committed = await commit(engine, change, { eager: true })
    if (committed.kind === 'committed') {
      for (const part of seals) entries += part.entries.length
      record = committed.record
      continue
    }
    const current = committed.kind === 'lost' ? committed.current : undefined
    // While the store throttles, the next to cross a line may have it: trying again costs units too.
    const again = current !== undefined && isUnsealed(current, seals) && !isThrottled(engine)
    if (!again) {
      await dropLateRows(engine, queue, seals, rows)
      break
    }
    record = current
  }
  return entries
}

/** The race was lost to something else: these entries are still where they were. */
const isUnsealed = (current: QueueRecord, seals: readonly Seal[]): boolean =>
  seals.every(({ priority, lane }) => {
    const now = current.lanes.get(priority)
    return now?.epoch === lane.epoch && now.sealed === lane.sealed
  })

/**
 * Rows of a lost race that lie behind the head by now: their segment may have been trimmed before
 * they came, and then nobody else would delete them.
 */
async function dropLateRows(
  engine: Engine,
  queue: string,
  seals: readonly Seal[],
  rows: readonly (readonly Row[])[],
): Promise<void> {
  // A licence to delete is read, never inferred from what an answer left out.
  const current = await readRecord(engine, queue)
  for (const [index, { priority, lane }] of seals.entries()) {
    const now = current?.lanes.get(priority)
    const head = now?.epoch === lane.epoch ? now.head : Number.POSITIVE_INFINITY
    const late = (rows[index] ?? []).filter((row) => parseChunkSortKey(row.sk as string).to <= head)
    if (late.length > 0) await deleteRows(engine, queue, { ...lane, head }, late)
  }
}
