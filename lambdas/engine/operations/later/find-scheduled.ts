import type { Append } from '../../core/append.ts'
import { findAppend } from '../../core/find-append.ts'
import { scheduledSortKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { decodeScheduled, type ScheduledId, unseenBeside } from '../../core/scheduled.ts'
import { SEALS_OF_ID } from '../../core/to-seal.ts'
import { partitionOf, rowsOfSeals, type ScheduledRow } from '../../store/scheduled-rows.ts'
import type { Engine } from '../attempts/engine.ts'

// Finds scheduled entries without a scan: an id names its second, and the seals that may have copied it out.

/** Where an entry is: a place in the record's list, or in that of a row. */
export type ScheduledPlace = { readonly row?: ScheduledRow; readonly place: number }

/** `unseen`: the entry may be in a row that cannot be read yet. */
export async function findScheduled(
  engine: Engine,
  record: QueueRecord,
  wanted: ScheduledId,
): Promise<ScheduledPlace | 'unseen' | undefined> {
  const { scheduled } = record
  const place = placeIn(scheduled.entries, wanted)
  if (place !== -1) return { place }
  const last = Math.min(scheduled.seals, wanted.seals + SEALS_OF_ID)
  const partition = partitionOf(record)
  const rows = await rowsOfSeals(engine.dynamo, partition, wanted.due, [wanted.seals + 1, last])
  for (const row of rows) {
    const at = placeIn(row.entries, wanted)
    if (at !== -1) return { row, place: at }
  }
  const [from, to] = [wanted.seals + 1, last].map((seals) => scheduledSortKey(wanted.due, seals))
  const isUnseen = unseenBeside(scheduled.unseen, rows).some(
    (sk) => sk >= (from as string) && sk <= (to as string),
  )
  return isUnseen ? 'unseen' : undefined
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
  return found === undefined || found === 'unseen' ? undefined : new Map()
}
