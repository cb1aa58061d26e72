import { spanOf } from './entry.ts'
import { hasLanesFor } from './joinable.ts'
import { roomForDue } from './kept-room.ts'
import { ENTRIES_PER_JOIN, LANES_PER_JOIN } from './limits.ts'
import type { QueueRecord, Scheduled } from './record.ts'
import {
  decodeScheduled,
  dueOfRow,
  encodeScheduled,
  indexesLeft,
  isDue,
  type ScheduledEntry,
  scheduledBytes,
  unseenBeside,
} from './scheduled.ts'

/** What the plan needs to know of a row. */
export type JoiningRow = {
  readonly sk: string
  readonly due: number
  readonly entries: readonly string[]
  /** Its entries as they are stored. */
  readonly stored: Uint8Array
}

/** The first rows, and whether there are more. */
export type FoundRows = { readonly rows: readonly JoiningRow[]; readonly more: boolean }

/** What joins its lanes in one write. */
export type Join = {
  /** In their order; for a reference of which only some items join, with the indexes of those items. */
  readonly joining: readonly Joining[]
  readonly items: number
  /** How much of the kept room they take. */
  readonly keptRoom: number
  /** Places in the record's list that this frees, and entries of that list that lose some items. */
  readonly places: readonly number[]
  readonly changed: ReadonlyMap<number, string>
  readonly bytes: number
  /** Rows that join, in their order. */
  readonly rows: readonly JoiningRow[]
  /** If only some entries of a row join: the row without them. */
  readonly rest: JoiningRow | undefined
  readonly nextDue: number | undefined
  /** Rows that no read has shown yet; absent if we read no rows. */
  readonly unseen: readonly string[] | undefined
}

export type Joining = ScheduledEntry & {
  readonly indexes?: readonly number[]
  /** Nothing of its batch is left. */
  readonly isLast: boolean
}

type Candidate = {
  readonly due: number
  readonly entries: readonly ScheduledEntry[]
  readonly place?: number
  readonly row?: JoiningRow
}

/** The part of a candidate for which there is room, if not for all of it, and the entries that stay. */
type Part = {
  readonly of: Candidate
  readonly joining: readonly Joining[]
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

const whole = (entry: ScheduledEntry): Joining =>
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
  const joining: Joining[] = []
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
