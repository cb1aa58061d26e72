import { JOIN_RETRY_MS, LANES_MAX, SCHEDULED_HARD_BYTES, TIDY_SCHEDULED_MS } from './limits.ts'
import { endOf, type QueueRecord } from './record.ts'
import {
  decodeScheduled,
  dueOf,
  earliestDue,
  isDue,
  isUntidy,
  type Scheduled,
  scheduledBytes,
} from './scheduled.ts'
import { earliestOf, NEAR_MS, patiently } from './timers.ts'

// What is due and cannot join, because all lanes are in use and it has none, and what this means for the rest.

/**
 * Of what has no lane, the record keeps so much: others pass by that. It leaves room for pushes for later. Beyond it,
 * what is due behind waits as well.
 */
export const WAITING_BYTES_MAX = SCHEDULED_HARD_BYTES / 2

export const isCrowded = ({ lanes }: QueueRecord): boolean => lanes.size >= LANES_MAX

export function hasEmptyLane({ lanes }: QueueRecord): boolean {
  for (const lane of lanes.values()) if (lane.head === endOf(lane)) return true
  return false
}

/** Each has its lane, or it can be made. */
export function hasLanesFor(record: QueueRecord, priorities: ReadonlySet<number>): boolean {
  let missing = 0
  for (const priority of priorities) if (!record.lanes.has(priority)) missing += 1
  return missing <= LANES_MAX - record.lanes.size
}

/** Of these scheduled entries, the bytes of those that have no lane and can have none. */
function bytesWithoutLane(record: QueueRecord, entries: readonly string[]): number {
  if (!isCrowded(record)) return 0
  let bytes = 0
  for (const entry of entries) {
    if (!record.lanes.has(decodeScheduled(entry).priority)) bytes += scheduledBytes(entry)
  }
  return bytes
}

const dueEntries = ({ entries }: Scheduled, nowMs: number): readonly string[] =>
  entries.filter((entry) => isDue(dueOf(entry), nowMs))

/** Whether the record may keep what of this row has no lane, so that others pass by it. */
export const mayPassBy = (
  record: QueueRecord,
  row: { readonly entries: readonly string[] },
  nowMs: number,
): boolean =>
  bytesWithoutLane(record, dueEntries(record.scheduled, nowMs)) +
    bytesWithoutLane(record, row.entries) <=
  WAITING_BYTES_MAX

/** Something is due by this clock, room aside, that may have its lane. What is in rows shows when these are read. */
export function isSomethingJoinable(record: QueueRecord, nowMs: number): boolean {
  const { nextDue, entries } = record.scheduled
  if (nextDue !== undefined && isDue(nextDue, nowMs)) return true
  if (entries.length === 0) return false
  const due = dueEntries(record.scheduled, nowMs)
  if (due.length === 0) return false
  if (!isCrowded(record) || hasEmptyLane(record)) return true
  return due.some((entry) => record.lanes.has(decodeScheduled(entry).priority))
}

/**
 * When somebody is to look: Wake for what is due; the sweeper for what finds no room or no lane, because whoever pops
 * makes these and joins, and for what makes the record larger than it need be. `isStuck`: a join has just tried.
 */
export function scheduledCheckAtMs(
  record: QueueRecord,
  nowMs: number,
  isStuck: boolean,
): number | undefined {
  const { scheduled, room } = record
  const due = earliestDue(scheduled)
  if (due === undefined) return undefined
  const waits = isDue(due, nowMs) && (room <= 0 || isStuck || !isSomethingJoinable(record, nowMs))
  return earliestOf([
    waits ? retryAtMs(record, nowMs) : 1_000 * due,
    isUntidy(scheduled) ? patiently(nowMs + TIDY_SCHEDULED_MS) : undefined,
  ])
}

function retryAtMs({ scheduled, room }: QueueRecord, nowMs: number): number {
  const laterMs = nowMs + JOIN_RETRY_MS
  if (room <= 0) return patiently(laterMs)
  // What comes due until the sweeper has looked again may have its lane.
  const nextMs = nextDueMs(scheduled, nowMs)
  return nextMs < laterMs + NEAR_MS ? nextMs : patiently(laterMs)
}

/** When the first is due of those that are not yet. */
function nextDueMs({ entries, nextDue }: Scheduled, nowMs: number): number {
  const dues = [...entries.map(dueOf), ...(nextDue === undefined ? [] : [nextDue])]
  return 1_000 * Math.min(...dues.filter((due) => !isDue(due, nowMs)))
}
