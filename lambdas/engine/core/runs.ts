import { decodeReference, isReference, spanOf } from './entry.ts'
import { none, normalised, type Range, type Ranges } from './ranges.ts'
import type { Lane } from './record.ts'

// What seals leave behind, as the record remembers it: numbers next to each other that lie in the same kind
// of place are a run. Nothing is read or deleted by them. They say what is worth offloading, and what to tell.

/** Chunk rows; or a batch in rows or in S3, to which a chunk row refers. */
export type SealedPlace = 'rows' | 'batch-rows' | 'batch-s3'

/** `unknown`: an engine sealed it that did not note where, or the lane has more runs than a record keeps. */
export type Run = Range & { readonly in: SealedPlace | 'unknown' }

/**
 * Some four bytes each, so 400 at worst, in a lane where single and bulk pushes took turns. Beyond that the
 * shortest neighbours become one run of which the record does not know.
 */
export const RUNS_MAX = 100

/** The lane's runs once these entries are sealed. Those that the head has passed are forgotten. */
export function runsAfter(lane: Lane, entries: readonly string[]): Run[] {
  const runs = runsAhead(lane)
  const knownTo = lane.runs.at(-1)?.to ?? 0
  const from = Math.max(knownTo, lane.head)
  if (from < lane.sealed) join(runs, { from, to: lane.sealed, in: 'unknown' })
  let at = lane.sealed
  for (const entry of entries) {
    const to = at + spanOf(entry)
    if (to > lane.head) join(runs, { from: at, to, in: placeOf(entry) })
    at = to
  }
  while (runs.length > RUNS_MAX) joinShortest(runs)
  return runs
}

export const runsAhead = ({ runs, head }: Pick<Lane, 'runs' | 'head'>): Run[] =>
  runs.filter(({ to }) => to > head)

/** Where an entry's items lie once it is sealed. */
function placeOf(entry: string): SealedPlace {
  if (!isReference(entry)) return 'rows'
  return decodeReference(entry).storage === 's3' ? 'batch-s3' : 'batch-rows'
}

/** Neighbours of one kind are one stretch. */
export function join<T extends Range & { readonly in: string }>(stretches: T[], next: T): void {
  const last = stretches.at(-1)
  if (last?.in === next.in && last.to === next.from) {
    stretches[stretches.length - 1] = { ...last, to: next.to }
  } else {
    stretches.push(next)
  }
}

function joinShortest(runs: Run[]): void {
  let least = 0
  const together = (i: number): number => (runs[i + 1] as Run).to - (runs[i] as Run).from
  for (let i = 1; i + 1 < runs.length; i += 1) if (together(i) < together(least)) least = i
  const joined: Run[] = []
  for (const [i, run] of runs.entries()) {
    join(joined, i === least || i === least + 1 ? { ...run, in: 'unknown' } : run)
  }
  runs.splice(0, runs.length, ...joined)
}

/**
 * Segments whose items stay where they were born, because all of them lie in batches, or some in a batch
 * in S3: a copy would cost more than it saves.
 */
export function stayingSegments({ runs, segmentSize }: Pick<Lane, 'runs' | 'segmentSize'>): Ranges {
  const staying: Range[] = []
  const inBatches: (Range & { readonly in: string })[] = []
  for (const { from, to, in: place } of runs) {
    if (place !== 'batch-rows' && place !== 'batch-s3') continue
    join(inBatches, { from, to, in: 'batches' })
    if (place === 'batch-rows') continue
    staying.push({ from: Math.floor(from / segmentSize), to: Math.ceil(to / segmentSize) })
  }
  for (const { from, to } of inBatches) {
    const whole = { from: Math.ceil(from / segmentSize), to: Math.floor(to / segmentSize) }
    if (whole.from < whole.to) staying.push(whole)
  }
  return staying.length === 0 ? none : normalised(staying)
}

const letters = { rows: 'R', 'batch-rows': 'B', 'batch-s3': 'S', unknown: 'U' } as const
const places = Object.fromEntries(
  Object.entries(letters).map(([place, letter]) => [letter, place as Run['in']]),
)

/** `0R2sS8c`: where the first begins, then the kind and length of each, in base 36. */
export function encodeRuns(runs: readonly Run[]): string | undefined {
  const [first] = runs
  if (first === undefined) return undefined
  const kinds = runs.map((run) => letters[run.in] + (run.to - run.from).toString(36))
  return first.from.toString(36) + kinds.join('')
}

export function decodeRuns(stored: string | undefined): readonly Run[] {
  if (stored === undefined) return []
  const runs: Run[] = []
  const [start = '', ...kinds] = stored.split(/(?=[A-Z])/)
  let from = Number.parseInt(start, 36)
  for (const kind of kinds) {
    const to = from + Number.parseInt(kind.slice(1), 36)
    runs.push({ from, to, in: places[kind[0] as string] ?? 'unknown' })
    from = to
  }
  return runs
}
