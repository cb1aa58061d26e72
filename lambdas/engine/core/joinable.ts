import { roomForDue } from './kept-room.ts'
import { JOIN_RETRY_MS, LANES_MAX, SCHEDULED_SOFT_BYTES, TIDY_SCHEDULED_MS } from './limits.ts'
import { doneLocks } from './locks.ts'
import type { Scheduled } from './record.ts'
import { endOf, type QueueRecord } from './record.ts'
import {
  decodeScheduled,
  dueOf,
  dueOfRow,
  earliestDue,
  isDue,
  isSomethingDue,
  isUntidy,
  scheduledBytes,
  unseenBeside,
} from './scheduled.ts'
import { earliestOf, NEAR_MS, patiently } from './timers.ts'

// Due items whose lane is missing and cannot be made, because all lanes are in use; and what that means for the rest.

/**
 * The record keeps this many bytes of due items that have no lane; others pass them there. The largest push for later
 * still fits beside them, and a quarter of the bytes that make a push seal is left, so that not every push seals.
 * Beyond this bound, due items behind them have to wait as well.
 */
export const WAITING_BYTES_MAX = (3 / 4) * SCHEDULED_SOFT_BYTES

export const isCrowded = ({ lanes }: QueueRecord): boolean => lanes.size >= LANES_MAX

export function hasEmptyLane({ lanes }: QueueRecord): boolean {
  for (const lane of lanes.values()) if (lane.head === endOf(lane)) return true
  return false
}

/** Whether each priority has its lane, or we can make it. */
export function hasLanesFor(record: QueueRecord, priorities: ReadonlySet<number>): boolean {
  let missing = 0
  for (const priority of priorities) if (!record.lanes.has(priority)) missing += 1
  return missing <= LANES_MAX - record.lanes.size
}

/** There is room for what is due, or there will be once acknowledged locks are folded. */
export const mayHaveRoom = (record: QueueRecord): boolean =>
  roomForDue(record) > 0 || doneLocks(record) > 0

const dueEntries = ({ entries }: Scheduled, nowMs: number): readonly string[] =>
  entries.filter((entry) => isDue(dueOf(entry), nowMs))

/**
 * The first rows of which nothing can join, as many as the record may keep, where others can pass them. Of a second, it
 * takes all rows or none: what stayed in rows would join before the older items in the record.
 */
export function rowsToTakeBack<
  R extends { readonly sk: string; readonly due: number; readonly entries: readonly string[] },
>(
  record: QueueRecord,
  { rows, more }: { readonly rows: readonly R[]; readonly more: boolean },
  nowMs: number,
): readonly R[] {
  const { scheduled, lanes } = record
  const hasLane = (entry: string): boolean => lanes.has(decodeScheduled(entry).priority)
  const partlyRead = new Set(unseenBeside(scheduled.unseen, rows).map(dueOfRow))
  if (more) partlyRead.add(rows.at(-1)?.due ?? 0)
  let bytes = bytesOf(dueEntries(scheduled, nowMs).filter((entry) => !hasLane(entry)))
  let end = 0
  for (const [due, second] of Map.groupBy(rows, (row) => row.due)) {
    bytes += bytesOf(second.flatMap(({ entries }) => entries))
    if (!isDue(due, nowMs) || partlyRead.has(due) || bytes > WAITING_BYTES_MAX) break
    if (second[0]?.entries.some(hasLane)) break
    end += second.length
  }
  return rows.slice(0, end)
}

const bytesOf = (entries: readonly string[]): number =>
  entries.reduce((sum, entry) => sum + scheduledBytes(entry), 0)

/**
 * Whether something is due by this clock that may have its lane, whether or not there is room. For items in rows only
 * a read can tell, unless one has just shown (`areBlocked`) that they have no lane: then what is due behind them waits
 * as well.
 */
export function isSomethingJoinable(
  record: QueueRecord,
  nowMs: number,
  areBlocked: boolean,
): boolean {
  const { scheduled, lanes } = record
  if (!isSomethingDue(scheduled, nowMs)) return false
  if (!isCrowded(record) || hasEmptyLane(record)) return true
  if (isRowDue(scheduled, nowMs)) return !areBlocked
  return dueEntries(scheduled, nowMs).some((entry) => lanes.has(decodeScheduled(entry).priority))
}

const isRowDue = ({ nextDue }: Scheduled, nowMs: number): boolean =>
  nextDue !== undefined && isDue(nextDue, nowMs)

/**
 * When Wake or the sweeper should look. Wake comes for due items. The sweeper comes for those that find no room or no
 * lane, until a write makes them some (`stopsWaiting`), and for a record that is larger than need be. `isStuck`: a join
 * has just tried in vain.
 */
export function scheduledCheckAtMs(
  record: QueueRecord,
  nowMs: number,
  isStuck: boolean,
): number | undefined {
  const { scheduled } = record
  const due = earliestDue(scheduled)
  if (due === undefined) return undefined
  const waits = isDue(due, nowMs) && (isStuck || !canJoin(record, nowMs))
  return earliestOf([
    waits ? retryAtMs(record, nowMs) : 1_000 * due,
    isUntidy(scheduled) ? patiently(nowMs + TIDY_SCHEDULED_MS) : undefined,
  ])
}

/** Something is due for which the write has made room, or a lane, so that it need not wait any longer. */
export const stopsWaiting = (before: QueueRecord, after: QueueRecord, nowMs: number): boolean =>
  // Another process may have found that rows are blocked, and put off the timer.
  canJoin(after, nowMs, true) && !canJoin(before, nowMs, true)

const canJoin = (record: QueueRecord, nowMs: number, areBlocked = false): boolean =>
  roomForDue(record) > 0 && isSomethingJoinable(record, nowMs, areBlocked)

function retryAtMs(record: QueueRecord, nowMs: number): number {
  const { scheduled } = record
  const laterMs = nowMs + JOIN_RETRY_MS
  if (roomForDue(record) <= 0 || isRowDue(scheduled, nowMs)) return patiently(laterMs)
  // Items that come due before the sweeper looks again may have their lanes.
  const nextMs = nextDueMs(scheduled, nowMs)
  const isNext = nextMs < laterMs + NEAR_MS
  return earliestOf([patiently(laterMs), isNext ? nextMs : undefined]) as number
}

/** When the next item is due, of those that are not due yet. */
function nextDueMs({ entries, nextDue }: Scheduled, nowMs: number): number {
  const dues = [...entries.map(dueOf), ...(nextDue === undefined ? [] : [nextDue])]
  return 1_000 * Math.min(...dues.filter((due) => !isDue(due, nowMs)))
}
