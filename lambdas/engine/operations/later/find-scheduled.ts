import { type Append, findAppend } from '../../core/append.ts'
import { SEALS_BEHIND_MAX } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, type ScheduledId } from '../../core/scheduled.ts'
import { partitionOf, rowsOfSeals, type ScheduledRow } from '../../store/scheduled-rows.ts'
import type { Engine } from '../attempts/engine.ts'

// Finds scheduled entries without a scan: an id names its second, and the seals that may have copied it out.

/**
 * A push may know of 16 seals fewer than there are. One more may be under way when it comes, without its entry, and
 * the next takes it. A move takes a seal's number too, and seals first if an entry has waited for so many (`mustSeal`).
 */
const SEALS_MAX = SEALS_BEHIND_MAX + 2

/** Where an entry is: a place in the record's list, or in that of a row. */
export type ScheduledPlace = { readonly row?: ScheduledRow; readonly place: number }

export async function findScheduled(
  engine: Engine,
  record: QueueRecord,
  wanted: ScheduledId,
): Promise<ScheduledPlace | undefined> {
  const { scheduled } = record
  const place = placeIn(scheduled.entries, wanted)
  if (place !== -1) return { place }
  const last = Math.min(scheduled.seals, wanted.seals + SEALS_MAX)
  const partition = partitionOf(record)
  const rows = await rowsOfSeals(engine.dynamo, partition, wanted.due, [wanted.seals + 1, last])
  for (const row of rows) {
    if (scheduled.joinedTo !== undefined && row.sk <= scheduled.joinedTo) continue
    const at = placeIn(row.entries, wanted)
    if (at !== -1) return { row, place: at }
  }
  return undefined
}

const placeIn = (entries: readonly string[], { due, seals, random }: ScheduledId): number => {
  const start = `${due.toString(36)}.${seals.toString(36)}.${random}.`
  return entries.findIndex((entry) => entry.startsWith(start))
}

/**
 * Finds a push whose answer was lost. One update brings all of a push, so if one part of it is there, the rest is too.
 * If its items for later have joined already, it cannot be found.
 */
export async function findAppended(
  engine: Engine,
  addition: Append,
  record: QueueRecord,
): Promise<Map<number, number> | undefined> {
  const [first] = addition.later?.entries ?? []
  if (first === undefined || addition.lanes.size > 0) return findAppend(addition, record)
  const found = await findScheduled(engine, record, decodeScheduled(first))
  return found === undefined ? undefined : new Map()
}
