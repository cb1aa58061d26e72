import { type Append, findAppend } from '../../core/append.ts'
import { SEALS_BEHIND_MAX } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, type ScheduledId } from '../../core/scheduled.ts'
import { partitionOf, rowsOfSeals, type ScheduledRow } from '../../store/scheduled-rows.ts'
import type { Engine } from '../attempts/engine.ts'

// Finds scheduled entries without a scan: an id names its second, and the seals that may have copied it out.

/**
 * The next seal that sees an entry takes it; one may have been under way when the entry came, and so may as many as
 * a push may be behind.
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
 * After a lost answer: where the push is, if it can be found. One update brings all of it, so what is found of one part
 * holds for the other. What it scheduled may have joined already: then nobody can tell.
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
