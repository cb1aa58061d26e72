import { isCrowded, WAITING_BYTES_MAX } from './joinable.ts'
import { SEALS_BEHIND_MAX } from './limits.ts'
import type { QueueRecord } from './record.ts'
import { decodeScheduled, isDue, scheduledBytes } from './scheduled.ts'

/**
 * An id leads to the rows of this many seals. A push may know of 16 seals fewer than there are; one more may be under
 * way, without the push's entry, when it comes; and the next one takes the entry.
 */
export const SEALS_OF_ID = SEALS_BEHIND_MAX + 2

/**
 * Places of the record's entries that a seal takes: all, except those that wait for a lane (as many as the record may
 * keep, where others pass them) and those that have waited so long that their ids would not lead to a new row.
 */
export function placesToSeal(record: QueueRecord, nowMs: number): number[] {
  const { entries, seals } = record.scheduled
  const places: number[] = []
  let waitingBytes = 0
  for (const [place, text] of entries.entries()) {
    const entry = decodeScheduled(text)
    if (seals + 1 > entry.seals + SEALS_OF_ID) continue
    const waits = isCrowded(record) && !record.lanes.has(entry.priority) && isDue(entry.due, nowMs)
    if (waits) waitingBytes += scheduledBytes(text)
    if (!waits || waitingBytes > WAITING_BYTES_MAX) places.push(place)
  }
  return places
}

/**
 * Whether an entry has been in the record for so many seals that the next one must take it: nobody looks for it in the
 * rows of later seals. A move uses up the number of a seal too, and leaves such an entry in the record.
 */
export function mustSeal(record: QueueRecord, nowMs: number): boolean {
  const { entries, seals } = record.scheduled
  return placesToSeal(record, nowMs).some((place) => {
    const entry = decodeScheduled(entries[place] as string)
    return seals - entry.seals >= SEALS_BEHIND_MAX
  })
}
