import { isReference, spanOf } from './entry.ts'
import { hasLanesFor, mayPassBy } from './joinable.ts'
import { ENTRIES_PER_JOIN, LANES_PER_JOIN } from './limits.ts'
import type { QueueRecord } from './record.ts'
import {
  decodeScheduled,
  encodeScheduled,
  indexesLeft,
  isDue,
  joinedSeal,
  joinedSecond,
  type Scheduled,
  type ScheduledEntry,
  scheduledBytes,
} from './scheduled.ts'

/** A row as the plan needs it. */
export type JoiningRow = {
  readonly sk: string
  readonly due: number
  readonly entries: readonly string[]
}

/** The first rows that have not joined, and whether there are more. */
export type FoundRows = { readonly rows: readonly JoiningRow[]; readonly more: boolean }

/** What joins its lanes in one write. */
export type Join = {
  /** In their order. Of a reference, the indexes of the items that join, where these are not all. */
  readonly joining: readonly Joining[]
  readonly items: number
  /** Places in the record's list that are free then, and entries of it that lose some items. */
  readonly places: readonly number[]
  readonly changed: ReadonlyMap<number, string>
  readonly bytes: number
  /** Rows that join, in their order. */
  readonly rows: readonly JoiningRow[]
  readonly nextDue: number | undefined
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

/**
 * The first of what is due, in the order of time and then of the pushes, as far as there is room and one write can
 * take it. Rows hold what was pushed before the record's entries. A row joins as a whole. `rows`: the first that have
 * not joined, if any are due.
 */
export function planJoin(
  record: QueueRecord,
  found: FoundRows | undefined,
  nowMs: number,
): Join | undefined {
  const taken: Candidate[] = []
  const priorities = new Set<number>()
  let [entries, items] = [0, 0]
  let part: { place: number; entry: ScheduledEntry; indexes: number[] } | undefined
  for (const candidate of dueCandidates(record.scheduled, found, nowMs)) {
    const count = itemsIn(candidate)
    const lanes = new Set([...priorities, ...candidate.entries.map(({ priority }) => priority)])
    if (!hasLanesFor(record, lanes)) {
      // In the record it waits, and others pass by it. A row goes back there first.
      if (candidate.row === undefined) continue
      break
    }
    if (candidate.row !== undefined && !mayPassBy(record, candidate.row, nowMs)) break
    const isTooMuch = entries > 0 && entries + candidate.entries.length > ENTRIES_PER_JOIN
    if (isTooMuch || (entries > 0 && lanes.size > LANES_PER_JOIN)) break
    if (items + count > record.room) {
      part = partOf(candidate, record.room - items)
      break
    }
    taken.push(candidate)
    for (const priority of lanes) priorities.add(priority)
    entries += candidate.entries.length
    items += count
  }
  if (part !== undefined) items += part.indexes.length
  const rowsTaken = taken.flatMap(({ row }) => row ?? [])
  // Rows that cancels have emptied are passed, or what is due behind them would wait.
  const passesEmptied = taken.some(({ entries: of }) => of.length === 0)
  if (items === 0 && !(passesEmptied && entries === 0)) return undefined
  const joining: Joining[] = taken.flatMap((candidate) => candidate.entries.map(whole))
  const changed = new Map<number, string>()
  let bytes = 0
  for (const { place } of taken) {
    if (place !== undefined) bytes += scheduledBytes(record.scheduled.entries[place] as string)
  }
  if (part !== undefined) {
    const { entry, indexes, place } = part
    joining.push({ ...entry, indexes, isLast: false })
    const left = encodeScheduled({ ...entry, gone: [...entry.gone, ...indexes] })
    changed.set(place, left)
    bytes += scheduledBytes(record.scheduled.entries[place] as string) - scheduledBytes(left)
  }
  return {
    joining,
    items,
    places: taken.flatMap(({ place }) => place ?? []).sort((a, b) => a - b),
    changed,
    bytes,
    rows: rowsTaken,
    nextDue: nextDueAfter(record.scheduled, found, rowsTaken.length),
  }
}

const whole = (entry: ScheduledEntry): Joining =>
  entry.gone.length === 0
    ? { ...entry, isLast: true }
    : { ...entry, indexes: indexesLeft(entry) as number[], isLast: true }

/** As many of a reference's items as there is room for: in a queue smaller than the push it could never join. */
function partOf({ entries, place }: Candidate, room: number) {
  const [entry] = entries
  if (room <= 0 || entry === undefined || place === undefined || !isReference(entry.entry))
    return undefined
  return { place, entry, indexes: (indexesLeft(entry) as number[]).slice(0, room) }
}

function dueCandidates(
  scheduled: Scheduled,
  found: FoundRows | undefined,
  nowMs: number,
): Candidate[] {
  const { rows, more } = found ?? { rows: [], more: false }
  // There are more rows, which may be due before an entry of the record that is due later than these.
  const until = more ? (rows.at(-1)?.due ?? 0) : Number.POSITIVE_INFINITY
  const inRows: Candidate[] = rows
    .filter(({ due }) => isDue(due, nowMs))
    .map((row) => ({ due: row.due, row, entries: row.entries.map(decodeScheduled) }))
  const inRecord: Candidate[] = []
  const takenBack: (Candidate & { seals: number })[] = []
  for (const [place, text] of scheduled.entries.entries()) {
    const entry = decodeScheduled(text)
    const candidate = { due: entry.due, place, entries: [entry] }
    if (!isDue(entry.due, nowMs)) continue
    // From a row that came before all that are left.
    const isEarlier = entry.due <= joinedSecond(scheduled) && entry.seals < joinedSeal(scheduled)
    if (isEarlier) takenBack.push({ ...candidate, seals: entry.seals })
    else if (entry.due < until) inRecord.push(candidate)
  }
  takenBack.sort((a, b) => a.seals - b.seals)
  return [...takenBack, ...inRows, ...inRecord].sort((a, b) => a.due - b.due)
}

const itemsIn = ({ entries }: Candidate): number =>
  entries.reduce((sum, { entry, gone }) => sum + spanOf(entry) - gone.length, 0)

/** Never later than the truth: where more rows may follow, the last that is known stands for them. */
export function nextDueAfter(
  { nextDue }: Scheduled,
  found: FoundRows | undefined,
  taken: number,
): number | undefined {
  if (found === undefined) return nextDue
  const { rows, more } = found
  const next = rows[taken]
  if (next !== undefined) return next.due
  return more ? rows.at(-1)?.due : undefined
}
