// Which due items join their lanes in one write, and what becomes of the others: they wait for room in a full queue, or
// for a lane where all lanes are in use. Only a fenced write joins, and only if no entry was taken out and no
// row has changed since it was planned. Reads of rows may lag behind the record, so it lists the rows not yet seen.

import { spanOf } from './item.ts'
import {
  decodeScheduled,
  dueOf,
  dueOfRow,
  type EntryRow,
  earliestDue,
  encodeScheduled,
  indexesLeft,
  isDue,
  isSomethingDue,
  isUntidy,
  type ScheduledEntry,
  scheduledBytes,
  unseenBeside,
} from './later.ts'
import { JOIN_RETRY_MS, LANES_MAX, SCHEDULED_SOFT_BYTES, TIDY_SCHEDULED_MS } from './limits.ts'
import { doneLocks } from './locks.ts'
import {
  earliestOf,
  endOf,
  NEAR_MS,
  patiently,
  type QueueRecord,
  type Scheduled,
} from './record.ts'

/** Entries that one join takes out of the record or rows: each is some bytes of its expression, or of its batch. */
const ENTRIES_PER_JOIN = 200
/** Priorities of one join: it may have to make a lane for each. */
const LANES_PER_JOIN = 20

/** The first rows, and whether there are more. */
export type FoundRows = { readonly rows: readonly EntryRow[]; readonly more: boolean }

/** What joins its lanes in one write. */
export type Join = {
  /** In their order; for a reference of which only some items join, with the indexes of those items. */
  readonly joining: readonly JoiningEntry[]
  readonly items: number
  /** How much of the kept room they take. */
  readonly keptRoom: number
  /** Places in the record's list that this frees, and entries of that list that lose some items. */
  readonly places: readonly number[]
  readonly changed: ReadonlyMap<number, string>
  readonly bytes: number
  /** Rows that join, in their order. */
  readonly rows: readonly EntryRow[]
  /** If only some entries of a row join: the row without them. */
  readonly rest: EntryRow | undefined
  readonly nextDue: number | undefined
  /** Rows that no read has shown yet; absent if we read no rows. */
  readonly unseen: readonly string[] | undefined
}

export type JoiningEntry = ScheduledEntry & {
  readonly indexes?: readonly number[]
  /** Nothing of its batch is left. */
  readonly isLast: boolean
}

type Candidate = {
  readonly due: number
  readonly entries: readonly ScheduledEntry[]
  readonly place?: number
  readonly row?: EntryRow
}

/** The part of a candidate for which there is room, if not for all of it, and the entries that stay. */
type Part = {
  readonly of: Candidate
  readonly joining: readonly JoiningEntry[]
  readonly left: readonly string[]
  readonly items: number
}

/**
 * The first due items, ordered by time and then by push, as many as there is room for and one write can take. What
 * rows hold was pushed before the record's entries. `found`: the first rows, if any are due.
 */
export function planJoin(
  record: QueueRecord,
  found: FoundRows | undefined,
  nowMs: number,
): Join | undefined {
  const taken: Candidate[] = []
  const priorities = new Set<number>()
  let [entries, items] = [0, 0]
  let part: Part | undefined
  for (const candidate of dueCandidates(record.scheduled, found, nowMs)) {
    const count = itemsIn(candidate)
    const lanes = new Set([...priorities, ...candidate.entries.map(({ priority }) => priority)])
    const hasLanes = hasLanesFor(record, lanes)
    // An entry in the record waits for its lane, and others pass it.
    if (!hasLanes && candidate.row === undefined) continue
    const isTooMuch = entries > 0 && entries + candidate.entries.length > ENTRIES_PER_JOIN
    if (isTooMuch || (entries > 0 && lanes.size > LANES_PER_JOIN)) break
    if (!hasLanes || items + count > roomForDue(record)) {
      part = partOf(candidate, record, { items, priorities })
      break
    }
    taken.push(candidate)
    for (const priority of lanes) priorities.add(priority)
    entries += candidate.entries.length
    items += count
  }
  if (taken.length === 0 && part === undefined) return undefined
  const rows = taken.flatMap(({ row }) => row ?? [])
  return {
    joining: [
      ...taken.flatMap((candidate) => candidate.entries.map(whole)),
      ...(part?.joining ?? []),
    ],
    items: items + (part?.items ?? 0),
    keptRoom: Math.min(record.keptRoom, items + (part?.items ?? 0)),
    ...inRecordOf(record.scheduled, taken, part),
    rows,
    rest: part?.of.row && { ...part.of.row, entries: part.left },
    nextDue: nextDueAfter(record.scheduled, found, rows.length),
    unseen: unseenAfter(record.scheduled, found),
  }
}

/** What the join takes out of the record's list. */
function inRecordOf({ entries }: Scheduled, taken: readonly Candidate[], part: Part | undefined) {
  const places = taken.flatMap(({ place }) => place ?? []).sort((a, b) => a - b)
  let bytes = 0
  for (const place of places) bytes += scheduledBytes(entries[place] as string)
  const changed = new Map<number, string>()
  const [left] = part?.left ?? []
  if (part?.of.place !== undefined && left !== undefined) {
    changed.set(part.of.place, left)
    bytes += scheduledBytes(entries[part.of.place] as string) - scheduledBytes(left)
  }
  return { places, changed, bytes }
}

const whole = (entry: ScheduledEntry): JoiningEntry =>
  entry.gone.length === 0
    ? { ...entry, isLast: true }
    : { ...entry, indexes: indexesLeft(entry) as number[], isLast: true }

/**
 * The entries that can have their lanes, as far as there is room beside what joins before them. A reference may join
 * in part, too: if the queue's capacity is smaller, the whole could never join.
 */
function partOf(
  of: Candidate,
  record: QueueRecord,
  before: { readonly items: number; readonly priorities: ReadonlySet<number> },
): Part | undefined {
  const room = Math.max(0, roomForDue(record) - before.items)
  let lanes = before.priorities
  const joining: JoiningEntry[] = []
  const left: string[] = []
  let items = 0
  for (const entry of of.entries) {
    const indexes = indexesLeft(entry)
    const lanesWith = new Set([...lanes, entry.priority])
    const some = hasLanesFor(record, lanesWith) ? indexes.slice(0, room - items) : []
    if (some.length > 0) lanes = lanesWith
    items += some.length
    if (some.length === indexes.length) joining.push(whole(entry))
    else {
      if (some.length > 0) {
        joining.push({ ...entry, indexes: some as number[], isLast: false })
      }
      left.push(encodeScheduled({ ...entry, gone: [...entry.gone, ...(some as number[])] }))
    }
  }
  return joining.length === 0 ? undefined : { of, joining, left, items }
}

function dueCandidates(
  scheduled: Scheduled,
  found: FoundRows | undefined,
  nowMs: number,
): Candidate[] {
  const { rows, more } = found ?? { rows: [], more: false }
  // If there are more rows, they may be due before any entry of the record that is due after the rows we read.
  const until = more ? (rows.at(-1)?.due ?? 0) : Number.POSITIVE_INFINITY
  const inRows: Candidate[] = rows
    .filter(({ due }) => isDue(due, nowMs))
    .map((row) => ({ due: row.due, row, entries: row.entries.map(decodeScheduled) }))
  const inRecord: Candidate[] = []
  for (const [place, text] of scheduled.entries.entries()) {
    const entry = decodeScheduled(text)
    const candidate = { due: entry.due, place, entries: [entry] }
    if (!isDue(entry.due, nowMs)) continue
    if (entry.due < until) inRecord.push(candidate)
  }
  return [...inRows, ...inRecord].sort((a, b) => a.due - b.due)
}

const itemsIn = ({ entries }: Candidate): number =>
  entries.reduce((sum, { entry, gone }) => sum + spanOf(entry) - gone.length, 0)

/**
 * Never later than the truth. If more rows may follow, the last one we know stands for them; a row that cannot be
 * read yet counts, too.
 */
export function nextDueAfter(
  scheduled: Scheduled,
  found: FoundRows | undefined,
  taken: number,
): number | undefined {
  if (found === undefined) return scheduled.nextDue
  const { rows, more } = found
  const next = rows[taken] ?? (more ? rows.at(-1) : undefined)
  const unseen = unseenBeside(scheduled.unseen, rows).map(dueOfRow)
  const dues = next === undefined ? unseen : [...unseen, next.due]
  return dues.length === 0 ? undefined : Math.min(...dues)
}

export const unseenAfter = (
  { unseen }: Scheduled,
  found: FoundRows | undefined,
): readonly string[] | undefined => found && unseenBeside(unseen, found.rows)

// In a full queue, items that are due wait for room. A push is blind: it would take whatever room a pop frees, and while
// producers keep the queue full the items that wait would never get any. So a fenced write that frees room while they
// wait keeps it for them, as much as all scheduled items would take: pushes count it as taken. Joins use it. Once nothing
// is due that could join, the next fenced write gives back what is left, and a push or a move that finds no room makes
// one (`useKeptRoom`).

/** What due items may take. */
export const roomForDue = ({ room, keptRoom }: Pick<QueueRecord, 'room' | 'keptRoom'>): number =>
  room + keptRoom

/** `waits`: something is due that could join if there is room. */
export function keepingRoom(before: QueueRecord, after: QueueRecord, waits: boolean): QueueRecord {
  if (!waits) {
    return after.keptRoom === 0 ? after : { ...after, room: roomForDue(after), keptRoom: 0 }
  }
  const freed = before.room <= 0 ? Math.max(0, after.room) : 0
  const kept = Math.min(freed, Math.max(0, after.scheduled.items - after.keptRoom))
  if (kept === 0) return after
  return { ...after, room: after.room - kept, keptRoom: after.keptRoom + kept }
}

/** There is room for what is due, or there will be once acknowledged locks are folded. */
export const mayHaveRoom = (record: QueueRecord): boolean =>
  roomForDue(record) > 0 || doneLocks(record) > 0

// A due item waits if its lane is missing and cannot be made, because all lanes are in use. Others pass it, to a bound.

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
function hasLanesFor(record: QueueRecord, priorities: ReadonlySet<number>): boolean {
  let missing = 0
  for (const priority of priorities) if (!record.lanes.has(priority)) missing += 1
  return missing <= LANES_MAX - record.lanes.size
}

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

const dueEntries = ({ entries }: Scheduled, nowMs: number): readonly string[] =>
  entries.filter((entry) => isDue(dueOf(entry), nowMs))

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

// When somebody should look at a queue because of its scheduled items.

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
