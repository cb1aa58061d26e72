import type { Dynamo, Row } from '../../foundation/dynamo.ts'
import { scheduledPartition, scheduledSortKey } from '../core/keys.ts'
import type { QueueRecord } from '../core/record.ts'
import { dueOf, dueOfRow } from '../core/scheduled.ts'
import { pack, unpack } from './codec.ts'

/** The scheduled entries of one second and one seal, in the order in which they were pushed. */
type NewRow = {
  readonly sk: string
  readonly due: number
  readonly entries: readonly string[]
}

export type ScheduledRow = NewRow & {
  /** Its entries as they are stored. */
  readonly stored: Uint8Array
}

/** The row that a purge adds to its era. It sorts after all others, where only the deletion of the era looks. */
export const PURGED_SORT_KEY = '~~'

export const partitionOf = ({ queue, born, scheduled }: QueueRecord): string =>
  scheduledPartition(queue, born, scheduled.era)

/** The rows that the next seal of this record makes from the entries at these places. */
export function rowsToSeal({ scheduled }: QueueRecord, places: readonly number[]): NewRow[] {
  const seals = scheduled.seals + 1
  const entries = places.map((place) => scheduled.entries[place] as string)
  return [...Map.groupBy(entries, dueOf)].map(([due, some]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    entries: some,
  }))
}

export const storedRow = (
  partition: string,
  { sk, entries }: Pick<NewRow, 'sk' | 'entries'>,
): Row => ({
  pk: partition,
  sk,
  d: pack(entries),
})

export function rowOf(row: Row): ScheduledRow {
  const [sk, stored] = [row.sk as string, row.d as Uint8Array]
  return { sk, due: dueOfRow(sk), entries: unpack(stored), stored }
}

/**
 * Rewrites a row with what is left of it, or deletes it, as part of a transaction. It passes if the row is as we read
 * it: our read of the record may have shown a write that our read of the row did not yet show.
 */
export function rewritten(
  TableName: string,
  partition: string,
  row: Pick<ScheduledRow, 'sk' | 'entries' | 'stored'>,
) {
  const asRead = {
    TableName,
    ConditionExpression: 'd=:d',
    ExpressionAttributeValues: { ':d': row.stored },
  }
  return row.entries.length > 0
    ? { Put: { ...asRead, Item: storedRow(partition, row) } }
    : { Delete: { ...asRead, Key: { pk: partition, sk: row.sk } } }
}

/** The unseen rows that a read still does not show. */
export async function unseenStill(dynamo: Dynamo, record: QueueRecord): Promise<readonly string[]> {
  const { unseen } = record.scheduled
  if (unseen.length === 0) return unseen
  const pk = partitionOf(record)
  // Mostly three at most. We read them one by one, because every function has the right to do that.
  const read = await Promise.all(unseen.map((sk) => dynamo.get({ pk, sk }, true)))
  return unseen.filter((_, at) => read[at] === undefined)
}

/** The first rows in order of time, from the sort key `from` to `to`. */
export async function scheduledRows(
  dynamo: Dynamo,
  partition: string,
  { from = '', to = '~', limit }: { from?: string; to?: string; limit: number },
): Promise<{ rows: ScheduledRow[]; more: boolean }> {
  const { rows, next } = await dynamo.query({
    KeyConditionExpression: 'pk=:pk AND sk BETWEEN :from AND :to',
    // All sort keys lie between these two.
    ExpressionAttributeValues: { ':pk': partition, ':from': from === '' ? '0' : from, ':to': to },
    ConsistentRead: true,
    Limit: limit,
  })
  return { rows: rows.map(rowOf), more: next !== undefined }
}

/** The first place after this sort key: no key has a space. */
export const behind = (sk: string): string => `${sk} `

/** The rows of one second that these seals wrote, from the first to the last. */
export async function rowsOfSeals(
  dynamo: Dynamo,
  partition: string,
  due: number,
  [first, last]: readonly [number, number],
): Promise<ScheduledRow[]> {
  if (last < first) return []
  const [from, to] = [scheduledSortKey(due, first), scheduledSortKey(due, last)]
  return (await scheduledRows(dynamo, partition, { from, to, limit: last - first + 1 })).rows
}
