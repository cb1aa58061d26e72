import { isCrowded, WAITING_BYTES_MAX } from './joinable.ts'
import { SEALS_BEHIND_MAX } from './limits.ts'
import type { QueueRecord } from './record.ts'
import { decodeScheduled, isDue, scheduledBytes } from './scheduled.ts'

/**
 * An id leads to the rows of so many seals. A push may know of 16 seals fewer than there are; one more may be under
 * way when it comes, without its entry; and the next takes it.
 */
export const SEALS_OF_ID = SEALS_BEHIND_MAX + 2

/**
 * Places of the record's entries that a seal takes: all, but what waits for a lane, as much of it as others pass by,
 * and what has waited for so long that its id no longer leads to a new row.
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
 * An entry of the record has been there for so many seals that the next must take it: nobody looks for it in the rows
 * of later ones. A move takes the number of a seal too, and leaves such an entry in the record.
 */
export function mustSeal(record: QueueRecord, nowMs: number): boolean {
  const { entries, seals } = record.scheduled
  return placesToSeal(record, nowMs).some((place) => {
    const entry = decodeScheduled(entries[place] as string)
    return seals - entry.seals >= SEALS_BEHIND_MAX
  })
}
