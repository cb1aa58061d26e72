import { queueOfRecordKey } from '../../engine/core/keys.ts'
import { decodeRecord, type StoredRecord } from '../../engine/core/stored-record.ts'
import { type Transition, transitionsOf } from '../../engine/core/views.ts'
import type { Change } from '../../testing/simulated/dynamodb/database.ts'

/** The transitions that a write is announced as, by way of the stream's filter (lib/constructs/events.ts). */
export function announcementsOf({ pk, oldItem, newItem }: Change): Transition[] {
  if (!pk.startsWith('q#') || newItem === undefined) return []
  const wasDry = oldItem !== undefined && 'dry' in oldItem
  if (!wasDry && !('dry' in newItem) && !('ev' in newItem)) return []
  const decode = (item: object) => decodeRecord(item as StoredRecord)
  return transitionsOf(oldItem && decode(oldItem), decode(newItem))
}

/** The same, to read: `orders: items-available`. */
export const announcedLines = (change: Change): string[] =>
  announcementsOf(change).map(({ kind }) => `${queueOfRecordKey(change.pk)}: ${kind}`)
