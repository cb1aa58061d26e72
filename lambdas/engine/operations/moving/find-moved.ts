import type { Append, Placed } from '../../core/append.ts'
import { spanOf } from '../../core/entry.ts'
import { ANSWER_BYTES_MAX } from '../../core/limits.ts'
import { endOf, type Lane, type QueueRecord } from '../../core/record.ts'
import type { Engine } from '../attempts/engine.ts'

/** How many sealed items we search: what a busy queue seals within some tenths of a second. */
const LOOKED_THROUGH_MAX = 500

/**
 * Finds the places of entries that were certainly appended. A blind append does not know the end of a lane, and a
 * transaction returns no record; but the last entry of each lane identifies them all, by its tag. It is in the
 * tail, unless a seal has moved it meanwhile. Once a consumer has taken and settled it, we do not find it.
 */
export async function findMoved(
  engine: Engine,
  addition: Append,
  entries: ReadonlyMap<number, readonly string[]>,
  record: QueueRecord | undefined,
): Promise<Placed> {
  const placed = new Map<number, { epoch: string; start: number }>()
  for (const [priority, own] of entries) {
    const lane = record?.lanes.get(priority)
    if (record === undefined || lane === undefined) continue
    const appended = addition.lanes.get(priority) ?? []
    const end = endInTail(lane, appended) ?? (await endInSealed(engine, record, lane, own))
    if (end !== undefined) placed.set(priority, { epoch: lane.epoch, start: end - own.length })
  }
  return placed
}

function endInTail(lane: Lane, appended: readonly string[]): number | undefined {
  const at = lane.tail.lastIndexOf(appended.at(-1) ?? '')
  if (at === -1) return undefined
  return lane.tail.slice(at + 1).reduce((end, entry) => end - spanOf(entry), endOf(lane))
}

async function endInSealed(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  own: readonly string[],
): Promise<number | undefined> {
  const from = Math.max(lane.head, lane.sealed - LOOKED_THROUGH_MAX)
  if (from >= lane.sealed) return undefined
  const stretch = { priority: lane.priority, from, to: lane.sealed }
  const read = await engine.items.read(record, [stretch], ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return undefined
  const at = read.entries.lastIndexOf(own.at(-1) as string)
  return at === -1 ? undefined : from + at + 1
}
