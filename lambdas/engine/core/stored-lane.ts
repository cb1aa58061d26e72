import { unflatten } from './ranges.ts'
import { type Dead, type Delivered, type Lane, noSegments } from './record.ts'
import { decodeRuns, encodeRuns } from './stored-record.ts'

/** Attribute names are short because every write is billed by the record's size. */
export type StoredLane = {
  e: string
  z: number
  h: number
  f: number
  s: number
  t: string[]
  o?: [number, number]
  r?: number
  x?: number
  k?: number[]
  /** [from, to, count, …] */
  d?: number[]
  /** [from, to, index of the reason, …] */
  q?: number[]
  /** Reasons of dead items, each once. */
  w?: string[]
  /** Where sealed items lie (`runs.ts`). */
  y?: string
}

export function decodeLane(priority: number, stored: StoredLane): Lane {
  const deliveries: Delivered[] = []
  const d = stored.d ?? []
  for (let i = 0; i < d.length; i += 3) {
    deliveries.push({ from: d[i] as number, to: d[i + 1] as number, count: d[i + 2] as number })
  }
  const dead: Dead[] = []
  const q = stored.q ?? []
  for (let i = 0; i < q.length; i += 3) {
    const reason = stored.w?.[q[i + 2] as number] ?? ''
    dead.push({ from: q[i] as number, to: q[i + 1] as number, reason })
  }
  return {
    priority,
    epoch: stored.e,
    segmentSize: stored.z,
    head: stored.h,
    frontier: stored.f,
    sealed: stored.s,
    tail: stored.t,
    runs: decodeRuns(stored.y),
    offloaded: stored.o === undefined ? noSegments : { from: stored.o[0], to: stored.o[1] },
    recalled: stored.r ?? 0,
    trimmed: stored.x ?? 0,
    holes: unflatten(stored.k),
    deliveries,
    dead,
  }
}

export function encodeLane(lane: Lane): StoredLane {
  return {
    e: lane.epoch,
    z: lane.segmentSize,
    h: lane.head,
    f: lane.frontier,
    s: lane.sealed,
    t: [...lane.tail],
    ...encodeLaneOptions(lane),
  }
}

/** The optional attributes of a lane, each absent while it is empty. */
export function encodeLaneOptions(
  lane: Lane,
): Pick<StoredLane, 'o' | 'r' | 'x' | 'k' | 'd' | 'q' | 'w' | 'y'> {
  const runs = encodeRuns(lane.runs)
  const reasons = [...new Set(lane.dead.map(({ reason }) => reason))]
  return {
    ...(lane.offloaded.from < lane.offloaded.to && { o: [lane.offloaded.from, lane.offloaded.to] }),
    ...(lane.recalled > 0 && { r: lane.recalled }),
    ...(lane.trimmed > 0 && { x: lane.trimmed }),
    ...(lane.holes.length > 0 && { k: lane.holes.flatMap(({ from, to }) => [from, to]) }),
    ...(lane.deliveries.length > 0 && {
      d: lane.deliveries.flatMap(({ from, to, count }) => [from, to, count]),
    }),
    ...(lane.dead.length > 0 && {
      q: lane.dead.flatMap(({ from, to, reason }) => [from, to, reasons.indexOf(reason)]),
      w: reasons,
    }),
    ...(runs !== undefined && { y: runs }),
  }
}
