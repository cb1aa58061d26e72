// Which due items join their lanes in one write, and what becomes of the others: in a full queue they wait for room. If
// the record holds as many lanes as it may, an item whose lane is missing joins the nearest. Only a fenced write joins,
// and only if no entry was taken out and no row has changed since it was planned. Reads of rows may lag behind the
// record, so it lists the rows not yet seen.

import { spanOf } from './item.ts'
import {
  decodeScheduled,
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
import { JOIN_RETRY_MS, LANES_MAX, TIDY_SCHEDULED_MS } from './limits.ts'
import { doneLocks } from './locks.ts'
import { earliestOf, nearestTo, patiently, type QueueRecord, type Scheduled } from './record.ts'

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
  /** The priority of the lane that it joins. */
  readonly lane: number
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
  const joining: JoiningEntry[] = []
  let lanes: ReadonlySet<number> = new Set()
  let items = 0
  let part: Part | undefined
  for (const candidate of dueCandidates(record.scheduled, found, nowMs)) {
    const count = itemsIn(candidate)
    const placed = placedIn(record, lanes, candidate.entries)
    const isTooMuch =
      joining.length + candidate.entries.length > ENTRIES_PER_JOIN ||
      placed.lanes.size > LANES_PER_JOIN
    if (joining.length > 0 && isTooMuch) break
    if (items + count > roomForDue(record)) {
      part = partOf(candidate, placed.entries, roomForDue(record) - items)
      break
    }
    taken.push(candidate)
    joining.push(...placed.entries.map(whole))
    lanes = placed.lanes
    items += count
  }
  if (taken.length === 0 && part === undefined) return undefined
  const rows = taken.flatMap(({ row }) => row ?? [])
  return {
    joining: [...joining, ...(part?.joining ?? [])],
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

type PlacedEntry = ScheduledEntry & { readonly lane: number }

/** `taken`: lanes in which something joins before. The result has those of these entries, too. */
function placedIn(
  record: QueueRecord,
  taken: ReadonlySet<number>,
  entries: readonly ScheduledEntry[],
): { readonly entries: readonly PlacedEntry[]; readonly lanes: ReadonlySet<number> } {
  const lanes = new Set(taken)
  const placed = entries.map((entry) => {
    const lane = laneOf(record, lanes, entry.priority)
    lanes.add(lane)
    return { ...entry, lane }
  })
  return { entries: placed, lanes }
}

/** Its own, which the write may have to make, as long as the record may hold another; else the nearest. */
function laneOf({ lanes }: QueueRecord, taken: ReadonlySet<number>, priority: number): number {
  if (lanes.has(priority) || taken.has(priority)) return priority
  const all = new Set([...lanes.keys(), ...taken])
  return all.size < LANES_MAX ? priority : nearestTo(priority, all)
}

const whole = (entry: PlacedEntry): JoiningEntry =>
  entry.gone.length === 0
    ? { ...entry, isLast: true }
    : { ...entry, indexes: indexesLeft(entry) as number[], isLast: true }

/** As much as there is room for. A reference may join in part, too: in a smaller queue, the whole could never join. */
function partOf(of: Candidate, entries: readonly PlacedEntry[], room: number): Part | undefined {
  const joining: JoiningEntry[] = []
  const left: string[] = []
  let items = 0
  for (const entry of entries) {
    const indexes = indexesLeft(entry)
    const some = indexes.slice(0, Math.max(0, room - items))
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
const mayHaveRoom = (record: QueueRecord): boolean =>
  roomForDue(record) > 0 || doneLocks(record) > 0

/** Something is due by this clock that lacks nothing, or nothing but room. */
export const mayJoin = (record: QueueRecord, nowMs: number): boolean =>
  mayHaveRoom(record) && isSomethingDue(record.scheduled, nowMs)

export const lacksRoom = (record: QueueRecord, nowMs: number): boolean =>
  !mayHaveRoom(record) && isSomethingDue(record.scheduled, nowMs)

// When somebody should look at a queue because of its scheduled items.

/**
 * When Wake or the sweeper should look. Wake comes for due items. The sweeper comes for those that find no room, until a
 * write makes them some (`stopsWaiting`), and for a record that is larger than need be.
 */
export function scheduledCheckAtMs(record: QueueRecord, nowMs: number): number | undefined {
  const { scheduled } = record
  const due = earliestDue(scheduled)
  if (due === undefined) return undefined
  const waits = isDue(due, nowMs) && !canJoin(record, nowMs)
  return earliestOf([
    waits ? patiently(nowMs + JOIN_RETRY_MS) : 1_000 * due,
    isUntidy(scheduled) ? patiently(nowMs + TIDY_SCHEDULED_MS) : undefined,
  ])
}

/** Something is due for which the write has made room, so that it need not wait any longer. */
export const stopsWaiting = (before: QueueRecord, after: QueueRecord, nowMs: number): boolean =>
  canJoin(after, nowMs) && !canJoin(before, nowMs)

const canJoin = (record: QueueRecord, nowMs: number): boolean =>
  roomForDue(record) > 0 && isSomethingDue(record.scheduled, nowMs)
