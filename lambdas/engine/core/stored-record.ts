import { QueueError } from '../../foundation/errors.ts'
import { defaultConfiguration } from './configuration.ts'
import { decodeEnded } from './ended-locks.ts'
import { noneMoved } from './notes.ts'
import { unflatten } from './ranges.ts'
import {
  type Dead,
  type Delivered,
  type Lane,
  type Lock,
  noSegments,
  type QueueRecord,
  type Reminder,
  type Stretch,
} from './record.ts'
import { decodeRuns, encodeRuns } from './runs.ts'
import { decodeConfiguration, type StoredConfiguration } from './stored-configuration.ts'

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

export type StoredLock =
  /** A claim: one stretch, whose start is under the same lock id in `F`. */
  | { x: number; p: number; n: number; k?: string }
  /** [priority, from, to, …] */
  | { x: number; r: number[]; k?: string }

export type StoredRecord = {
  pk: string
  sk: string
  shard: number
  v: number
  born: string
  m: string
  e?: string
  le?: number
  L: Record<string, StoredLane>
  K: Record<string, StoredLock>
  F: Record<string, number>
  b: number
  a: number
  c: number
  n: number
  i: number
  g: number
  room: number
  cfg?: StoredConfiguration
  /** Tokens of the last entries of callers' own transactions, and how many came before those. */
  u?: string[]
  ux?: number
  /** Notes that have left: marks of the last ones, and how many have none any more. */
  km?: string
  kx?: number
  /** The sequence number of the last message of the inbox, of 40 digits. */
  sn?: string
  checkAt?: number
  /** `checkAt` was near when it was set (`timers.ts`): the stream tells of that. */
  wk?: string
  /** [announcements, taken, since] */
  rm?: [number, number, number]
  work?: string
  dry?: string
  ev?: string
  hold?: number
  /** The format, from 2 on; this engine writes, and knows, records without it. */
  fm?: number
  /** Notes, by the hash of the key. */
  [note: NoteName]: string
}

export type NoteName = `.${string}`
export const noteName = (keyHash: string): NoteName => `.${keyHash}`

/** The format of records that have no `fm`. */
const FORMAT = 1

export function decodeRecord(stored: StoredRecord): QueueRecord {
  const queue = stored.pk.slice(2)
  if (stored.fm !== undefined) throw unknownFormat(queue, stored.fm)
  const lanes = new Map<number, Lane>()
  for (const [priority, lane] of Object.entries(stored.L)) {
    lanes.set(Number(priority), decodeLane(Number(priority), lane))
  }
  const locks = new Map<string, Lock>()
  for (const [lockId, lock] of Object.entries(stored.K)) {
    locks.set(lockId, decodeLock(lock, stored.F[lockId]))
  }
  return {
    queue,
    version: stored.v,
    born: stored.born,
    marks: stored.m,
    ended: decodeEnded(stored.e ?? ''),
    lastEndedMs: stored.le ?? 0,
    lanes,
    locks,
    tailBytes: stored.b,
    appends: stored.a,
    claims: stored.c,
    lanesMade: stored.n,
    inFlight: stored.i,
    room: stored.room,
    returns: stored.g,
    configuration:
      stored.cfg === undefined ? defaultConfiguration : decodeConfiguration(stored.cfg),
    tokens: { kept: stored.u?.length ?? 0, forgotten: stored.ux ?? 0 },
    notes: decodeNotes(stored),
    moved:
      stored.km === undefined && stored.kx === undefined
        ? noneMoved
        : { marks: stored.km ?? '', forgotten: stored.kx ?? 0 },
    sequence: stored.sn,
    checkAtMs: stored.checkAt,
    near: stored.wk !== undefined,
    reminder: stored.rm && { times: stored.rm[0], taken: stored.rm[1], sinceMs: stored.rm[2] },
    work: stored.work !== undefined,
    dry: stored.dry !== undefined,
    notable: stored.ev !== undefined,
    holdUntilMs: stored.hold ?? 0,
  }
}

function decodeNotes(stored: StoredRecord): QueueRecord['notes'] {
  const notes = new Map<string, string>()
  for (const name in stored) {
    if (name.startsWith('.')) notes.set(name.slice(1), stored[name as NoteName] as string)
  }
  return notes
}

const unknownFormat = (queue: string, format: number): QueueError =>
  new QueueError(
    'FORMAT_UNKNOWN',
    `Cannot use queue "${queue}" because a newer PushPop has written it (format ${format}) and this one knows format ${FORMAT}: deploy the newer version here as well`,
  )

function decodeLane(priority: number, stored: StoredLane): Lane {
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

function decodeLock(stored: StoredLock, from: number | undefined): Lock {
  if ('r' in stored) {
    const stretches: Stretch[] = []
    for (let i = 0; i < stored.r.length; i += 3) {
      stretches.push({
        priority: stored.r[i] as number,
        from: stored.r[i + 1] as number,
        to: stored.r[i + 2] as number,
      })
    }
    return { expiresAtMs: stored.x, stretches, keyHash: stored.k }
  }
  const start = from as number
  return {
    expiresAtMs: stored.x,
    stretches: [{ priority: stored.p, from: start, to: start + stored.n }],
    keyHash: stored.k,
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

/** The attributes of a lane that are absent while they say nothing. */
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

export function encodeLock(lock: Lock): Extract<StoredLock, { r: number[] }> {
  return {
    x: lock.expiresAtMs,
    r: lock.stretches.flatMap(({ priority, from, to }) => [priority, from, to]),
    ...(lock.keyHash !== undefined && { k: lock.keyHash }),
  }
}

export const encodeReminder = ({ times, taken, sinceMs }: Reminder): [number, number, number] => [
  times,
  taken,
  sinceMs,
]
