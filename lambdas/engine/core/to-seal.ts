import { isCrowded, WAITING_BYTES_MAX } from './joinable.ts'
import { ENTRIES_ALONG_MAX, ROWS_PER_SEAL, SEALS_BEHIND_MAX } from './limits.ts'
import type { QueueRecord, Scheduled } from './record.ts'
import { decodeScheduled, dueOf, isDue, type ScheduledEntry, scheduledBytes } from './scheduled.ts'

/**
 * An id leads to the rows of this many seals. A push may know of 16 seals fewer than there are; one more may be under
 * way, without the push's entry, when it comes; and the next one takes the entry.
 */
export const SEALS_OF_ID = SEALS_BEHIND_MAX + 2

/*
 * Items of one second and priority join in the order in which they came, because what rows hold came before what the
 * record holds. So a seal takes all entries of a second and priority or none, a move takes those along that are in the
 * record for its second, and entries that go back to the record go to its front.
 */

/**
 * Places of the record's entries that a seal takes: all, except those that wait for a lane (as many as the record may
 * keep, where others pass them) and those that have waited so long that their ids would not lead to a new row. After
 * some rows went back to the record, it may hold more seconds than a transaction has room for: then the first ones.
 */
export function placesToSeal(record: QueueRecord, nowMs: number): number[] {
  const { scheduled } = record
  const staying = stayingGroups(record, nowMs)
  const seconds = new Set<number>()
  const places: number[] = []
  for (const [place, text] of scheduled.entries.entries()) {
    const entry = decodeScheduled(text)
    if (staying.has(groupOf(entry))) continue
    if (seconds.size === ROWS_PER_SEAL && !seconds.has(entry.due)) continue
    seconds.add(entry.due)
    places.push(place)
  }
  return places
}

const groupOf = ({ due, priority }: ScheduledEntry): string => `${due}.${priority}`

function stayingGroups(record: QueueRecord, nowMs: number): ReadonlySet<string> {
  const { entries, seals } = record.scheduled
  const staying = new Set<string>()
  const waiting = new Map<string, number>()
  for (const text of entries) {
    const entry = decodeScheduled(text)
    const group = groupOf(entry)
    if (!isWithinReach(entry, seals)) staying.add(group)
    if (isCrowded(record) && !record.lanes.has(entry.priority) && isDue(entry.due, nowMs)) {
      waiting.set(group, (waiting.get(group) ?? 0) + scheduledBytes(text))
    }
  }
  let waitingBytes = 0
  for (const [group, bytes] of waiting) {
    waitingBytes += bytes
    if (waitingBytes <= WAITING_BYTES_MAX) staying.add(group)
  }
  return staying
}

/** Whether an entry's id would lead to a row of the next seal. */
const isWithinReach = (entry: ScheduledEntry, seals: number): boolean =>
  seals + 1 <= entry.seals + SEALS_OF_ID

/**
 * Places of the entries that a move to these seconds takes along into its rows, ahead of what it moves: they were
 * scheduled before. `entries`: those of the record, without what the move takes out.
 */
export function placesAlong(
  { seals }: Pick<Scheduled, 'seals'>,
  entries: readonly (string | undefined)[],
  seconds: ReadonlySet<number>,
): number[] {
  return entries.flatMap((text, place) =>
    text !== undefined && seconds.has(dueOf(text)) && isWithinReach(decodeScheduled(text), seals)
      ? [place]
      : [],
  )
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

/** Whether a seal comes before the write that puts waiting items off to this second. */
export const mustSealBefore = (record: QueueRecord, due: number, nowMs: number): boolean =>
  mustSeal(record, nowMs) ||
  placesAlong(record.scheduled, record.scheduled.entries, new Set([due])).length > ENTRIES_ALONG_MAX
