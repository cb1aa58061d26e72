// Where the items of a lane lie, as far as the record knows: it reads nothing. The record remembers what seals leave
// behind as runs: numbers next to each other that lie in the same kind of place. There are few of them, because every
// write is billed by the whole record, so runs that are too many become coarser: neighbours join, and what lay in
// different places is then known less well. Nothing is read or deleted by runs. They say which segments are worth
// offloading, and what to tell.

import { decodeReference, isReference, spanOf } from './item.ts'
import { intersect, none, normalised, type Range, type Ranges, subtract } from './ranges.ts'
import { endOf, type Lane, type Run, type SealedPlace, segmentOf } from './record.ts'

/**
 * Runs of a record, shared by its lanes: four bytes each, twelve for the only one of a lane, so less than a
 * kilobyte however many lanes there are. Every write is billed by the whole record.
 */
export const RUNS_MAX = 80
/** Runs of one lane: some 32 bytes, so that pushes that take turns between two kinds pay for next to nothing. */
export const LANE_RUNS_MAX = 8

/** How many runs a lane may have beside those of the others: several while there is plenty, then one. */
export const runsLeft = (others: number): number =>
  others >= RUNS_MAX ? 0 : Math.max(1, Math.min(LANE_RUNS_MAX, RUNS_MAX / 2 - others))

/** The lane's runs once these entries are sealed: `max` at most, without those that the head has passed. */
export function runsAfter(lane: Lane, entries: readonly string[], max = LANE_RUNS_MAX): Run[] {
  if (max === 0) return []
  // A record that a person wrote by hand may list more than was sealed.
  const runs = runsAhead(lane).filter(({ to }) => to <= lane.sealed)
  const from = Math.max(runs.at(-1)?.to ?? 0, lane.head)
  if (from < lane.sealed) join(runs, { from, to: lane.sealed, in: 'unknown' })
  let at = lane.sealed
  for (const entry of entries) {
    const to = at + spanOf(entry)
    if (to > lane.head) join(runs, { from: at, to, in: placeOf(entry) })
    at = to
  }
  return coarser(runs, max)
}

export const runsAhead = ({ runs, head }: Pick<Lane, 'runs' | 'head'>): Run[] =>
  runs.filter(({ to }) => to > head)

/** Where an entry's items lie once it is sealed. */
function placeOf(entry: string): SealedPlace {
  if (!isReference(entry)) return 'rows'
  return decodeReference(entry).storage === 's3' ? 'batch-s3' : 'batch-rows'
}

/** Adds a stretch, joined to the last one if they touch and are of one kind. */
function join<T extends Range & { readonly in: string }>(stretches: T[], next: T): void {
  const last = stretches.at(-1)
  if (last?.in === next.in && last.to === next.from) {
    stretches[stretches.length - 1] = { ...last, to: next.to }
  } else {
    stretches.push(next)
  }
}

/** Joins the shortest neighbours until there are no more than `max` runs. */
function coarser(runs: readonly Run[], max: number): Run[] {
  const left = [...runs]
  for (let over = runs.length - max; over > 0; over -= 1) joinShortest(left)
  const joined: Run[] = []
  for (const run of left) join(joined, run)
  return joined
}

function joinShortest(runs: Run[]): void {
  let least = 0
  const together = (i: number): number => (runs[i + 1] as Run).to - (runs[i] as Run).from
  for (let i = 1; i + 1 < runs.length; i += 1) if (together(i) < together(least)) least = i
  const [one, other] = runs.slice(least, least + 2) as [Run, Run]
  runs.splice(least, 2, { from: one.from, to: other.to, in: placeOfBoth(one, other) })
}

/**
 * Leaving a run where it is costs only its storage; offloading it costs several requests. So if either run has a
 * batch in S3, both stay.
 */
function placeOfBoth(one: Run, other: Run): Run['in'] {
  if (one.in === other.in) return one.in
  if (isLeft(one) || isLeft(other)) return 'batches'
  const longer = one.to - one.from > other.to - other.from ? one : other
  return longer.in === 'batch-rows' ? 'batches' : 'unknown'
}

const isLeft = ({ in: place }: Run): boolean => place === 'batch-s3' || place === 'batches'

/**
 * Segments whose items stay where they were born, because all of them lie in batches or, as far as the record
 * knows, some lie in a batch in S3: a copy would cost more than it saves.
 */
export function stayingSegments({ runs, segmentSize }: Pick<Lane, 'runs' | 'segmentSize'>): Ranges {
  const staying: Range[] = []
  const inBatches: (Range & { readonly in: string })[] = []
  for (const run of runs) {
    const { from, to } = run
    if (run.in !== 'batch-rows' && !isLeft(run)) continue
    join(inBatches, { from, to, in: 'batches' })
    if (run.in === 'batch-rows') continue
    staying.push({ from: Math.floor(from / segmentSize), to: Math.ceil(to / segmentSize) })
  }
  for (const { from, to } of inBatches) {
    const whole = { from: Math.ceil(from / segmentSize), to: Math.floor(to / segmentSize) }
    if (whole.from < whole.to) staying.push(whole)
  }
  return staying.length === 0 ? none : normalised(staying)
}

/** `s3`: a segment that housekeeping copied there. `recalled`: such a segment that has a copy in rows again. */
type StoredPlace = 'record' | SealedPlace | 's3' | 'recalled'
export type Stored = Range & { readonly in: StoredPlace }

/** Stretches from the head to the end, without those whose place the record does not know. */
export function storedIn(lane: Lane): Stored[] {
  const stretches: Stored[] = []
  for (const stretch of [...sealedIn(lane), ...tailOf(lane)]) {
    if (stretch.to > lane.head)
      join(stretches, { ...stretch, from: Math.max(stretch.from, lane.head) })
  }
  return stretches
}

function sealedIn({ runs, offloaded, recalled, segmentSize }: Lane): Stored[] {
  const size = segmentSize
  const back = Math.min(Math.max(recalled, offloaded.from), offloaded.to)
  const copied = { from: offloaded.from * size, to: offloaded.to * size }
  const found: Stored[] = runs.flatMap(({ in: place, ...run }) =>
    place === 'unknown' || place === 'batches'
      ? []
      : subtract([run], [copied]).map((range) => ({ ...range, in: place })),
  )
  if (offloaded.from < back) found.push({ from: copied.from, to: back * size, in: 'recalled' })
  if (back < offloaded.to) found.push({ from: back * size, to: copied.to, in: 's3' })
  return found.sort((one, other) => one.from - other.from)
}

function tailOf({ sealed, tail }: Lane): Stored[] {
  const found: Stored[] = []
  let from = sealed
  for (const entry of tail) {
    const to = from + spanOf(entry)
    join(found, { from, to, in: isReference(entry) ? placeOf(entry) : 'record' })
    from = to
  }
  return found
}

/** The longest stretch of whole segments that lie in S3, between the head's segment and the last. */
export function longestInS3(lane: Lane, stretches: readonly Stored[]): Range | undefined {
  const inS3: Stored[] = []
  for (const stretch of stretches) if (isS3(stretch.in)) join(inS3, { ...stretch, in: 's3' })
  const first = segmentOf(lane, lane.head) + 1
  const last = segmentOf(lane, endOf(lane) - 1)
  let longest: Range | undefined
  for (const stretch of inS3) {
    const from = Math.max(Math.ceil(stretch.from / lane.segmentSize), first)
    const to = Math.min(Math.floor(stretch.to / lane.segmentSize), last)
    const length = longest === undefined ? 0 : longest.to - longest.from
    if (to - from > length) longest = { from, to }
  }
  return longest
}

const isS3 = (place: StoredPlace | Run['in']): boolean => place === 's3' || place === 'batch-s3'

/** Whether any of the items is in S3, or in batches that may be, as far as the record knows. */
export const isInS3 = (lane: Lane, range: Range): boolean =>
  [...storedIn(lane), ...lane.runs.filter(({ in: place }) => place === 'batches')].some(
    (stretch) =>
      (stretch.in === 'batches' || isS3(stretch.in)) && intersect([stretch], [range]).length > 0,
  )
