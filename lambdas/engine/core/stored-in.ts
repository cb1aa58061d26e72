import { decodeReference, isReference, spanOf } from './entry.ts'
import { intersect, type Range, subtract } from './ranges.ts'
import type { Run, SealedPlace } from './record.ts'
import { endOf, type Lane, segmentOf } from './record.ts'
import { join } from './runs.ts'

// Where a lane's items lie, from the record alone.

/** `s3`: a segment that housekeeping copied there. `recalled`: such a segment that has a copy in rows again. */
export type StoredPlace = 'record' | SealedPlace | 's3' | 'recalled'
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
    join(found, { from, to, in: placeInTail(entry) })
    from = to
  }
  return found
}

function placeInTail(entry: string): StoredPlace {
  if (!isReference(entry)) return 'record'
  return decodeReference(entry).storage === 's3' ? 'batch-s3' : 'batch-rows'
}

const isS3 = (place: StoredPlace): boolean => place === 's3' || place === 'batch-s3'

/** Whether any of the items is in S3, or in batches that may be, as far as the record knows. */
export const isInS3 = (lane: Lane, range: Range): boolean =>
  [...storedIn(lane), ...lane.runs.filter(({ in: place }) => place === 'batches')].some(
    (stretch) => isMaybeS3(stretch.in) && intersect([stretch], [range]).length > 0,
  )

const isMaybeS3 = (place: StoredPlace | Run['in']): boolean =>
  place === 'batches' || place === 's3' || place === 'batch-s3'

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
