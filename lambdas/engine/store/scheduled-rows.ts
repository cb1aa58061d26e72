import type { Dynamo, Row } from '../../foundation/dynamo.ts'
import { scheduledPartition, scheduledSortKey } from '../core/keys.ts'
import type { QueueRecord } from '../core/record.ts'
import { dueOf, joinedSecond, scheduledBytes } from '../core/scheduled.ts'
import { pack, unpack } from './codec.ts'

/** The scheduled entries of one second and one seal, in the order in which they were pushed. */
export type ScheduledRow = {
  readonly sk: string
  readonly due: number
  readonly seals: number
  readonly entries: readonly string[]
}

/** What a purge adds to the rows of its era: behind all others, where only those look that delete them. */
export const PURGED_SORT_KEY = '~~'

export const partitionOf = ({ queue, born, scheduled }: QueueRecord): string =>
  scheduledPartition(queue, born, scheduled.era)

/**
 * The rows that the next seal of this record writes, and what it takes for them: all entries but those that came so
 * late that rows due after them have joined. A join would not look for them there; they join from the record, and
 * soon.
 */
export function rowsToSeal({ scheduled }: QueueRecord): {
  readonly rows: readonly ScheduledRow[]
  readonly places: readonly number[]
  readonly bytes: number
} {
  const seals = scheduled.seals + 1
  const joined = joinedSecond(scheduled)
  const bySecond = new Map<number, string[]>()
  const places: number[] = []
  let bytes = 0
  for (const [place, entry] of scheduled.entries.entries()) {
    const due = dueOf(entry)
    if (due <= joined) continue
    places.push(place)
    bytes += scheduledBytes(entry)
    const entries = bySecond.get(due)
    if (entries === undefined) bySecond.set(due, [entry])
    else entries.push(entry)
  }
  const rows = [...bySecond].map(([due, entries]) => ({
    sk: scheduledSortKey(due, seals),
    due,
    seals,
    entries,
  }))
  return { rows, places, bytes }
}

export const storedRow = (
  partition: string,
  { sk, entries }: Pick<ScheduledRow, 'sk' | 'entries'>,
): Row => ({
  pk: partition,
  sk,
  d: pack(entries),
})

export function rowOf(row: Row): ScheduledRow {
  const sk = row.sk as string
  const [due, seals] = sk.split('#')
  return { sk, due: Number(due), seals: Number(seals), entries: unpack(row.d as Uint8Array) }
}

/** The first rows in order of time, behind the sort key `from` and before `to`. */
export async function scheduledRows(
  dynamo: Dynamo,
  partition: string,
  { from = '', to = '~', limit }: { from?: string; to?: string; limit: number },
): Promise<{ rows: ScheduledRow[]; more: boolean }> {
  const { rows, next } = await dynamo.query({
    KeyConditionExpression: 'pk=:pk AND sk BETWEEN :from AND :to',
    // Sort keys are text between these two, whatever they are.
    ExpressionAttributeValues: { ':pk': partition, ':from': from === '' ? '0' : from, ':to': to },
    ConsistentRead: true,
    Limit: limit,
  })
  return { rows: rows.map(rowOf), more: next !== undefined }
}

/** The first place after this sort key: no key has a space. */
export const behind = (sk: string): string => `${sk} `

/** The rows of one second that these seals wrote, the first and the last of them included. */
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
