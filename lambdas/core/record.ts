import { type Configuration, defaultConfiguration } from './configuration.ts'
import { spanOf } from './entry.ts'
import { IN_FLIGHT_MAX, MARKS_KEPT } from './limits.ts'
import {
  countOf,
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
  unflatten,
  union,
} from './ranges.ts'

/**
 * The queue record, decoded. Immutable: a decision makes a new one, and `store/fenced-update.ts`
 * writes the difference, never a whole lane or record.
 */
export type QueueRecord = {
  readonly queue: string
  /** One more with each fenced write. */
  readonly version: number
  /** Random; a queue forgotten and made again never passes an old fence. */
  readonly born: string
  /** The last 16 fenced writes' marks, newest last, six characters each. */
  readonly marks: string
  readonly ended: readonly EndedLock[]
  readonly lastEndedMs: number
  readonly lanes: ReadonlyMap<number, Lane>
  readonly locks: ReadonlyMap<string, Lock>
  /** Over all lanes; changed by adding alone, as the four counts below are. */
  readonly tailBytes: number
  readonly appends: number
  /** Claims and extensions: what changes locks and frontiers beside the fence. */
  readonly claims: number
  readonly lanesMade: number
  readonly inFlight: number
  /** Items that may still be pushed; starts at the capacity. */
  readonly room: number
  /** Counts the times that something came back to the front. */
  readonly returns: number
  readonly configuration: Configuration
  readonly checkAtMs: number | undefined
  readonly work: boolean
  /** Claims stand back until then: a starving fenced write asked them to. */
  readonly holdUntilMs: number
}

export type Lane = {
  readonly epoch: string
  readonly segmentSize: number
  readonly head: number
  readonly frontier: number
  readonly sealed: number
  readonly tail: readonly string[]
  /** Segments [from, to) that are in S3. */
  readonly offloaded: Range
  /** Offloaded segments below this have a copy in rows again. */
  readonly recalled: number
  /** Segments below this have no rows and objects any more. */
  readonly trimmed: number
  /** Settled numbers above the head. */
  readonly holes: Ranges
  /** Numbers that came back, with how often. */
  readonly deliveries: readonly Delivered[]
  /** On their way to the dead-letter queue: stored, invisible. */
  readonly dead: readonly Dead[]
}

export type Delivered = Range & { readonly count: number }
export type Dead = Range & { readonly reason: string }
export type Stretch = Range & { readonly priority: number }

export type Lock = {
  /** 0: acknowledged, and waiting for a fenced write to fold it into head and holes. */
  readonly expiresAtMs: number
  readonly stretches: readonly Stretch[]
  /** Hash of the pop's idempotency key. */
  readonly keyHash?: string
}

/** How a lock ended. */
export type Ending = 'acknowledged' | 'expired' | 'released' | 'dead-lettered' | 'purged'
export type EndedLock = { readonly lockId: string; readonly ending: Ending; readonly items: number }

export const MARK_CHARACTERS = 6
export const EPOCH_CHARACTERS = 8

const noSegments: Range = { from: 0, to: 0 }

export function newLane(epoch: string, segmentSize: number, tail: readonly string[]): Lane {
  return {
    epoch,
    segmentSize,
    head: 0,
    frontier: 0,
    sealed: 0,
    tail,
    offloaded: noSegments,
    recalled: 0,
    trimmed: 0,
    holes: none,
    deliveries: [],
    dead: [],
  }
}

export function endOf(lane: Lane): number {
  let end = lane.sealed
  for (const entry of lane.tail) end += spanOf(entry)
  return end
}

export const segmentOf = (lane: Lane, sequence: number): number =>
  Math.floor(sequence / lane.segmentSize)

/** Lanes in the order that a pop serves them. */
export function lanesInOrder(record: QueueRecord): [number, Lane][] {
  return [...record.lanes].sort(([a], [b]) => a - b)
}

/** All numbers of a lane that some lock holds, done and expired ones included. */
export function lockedIn(record: QueueRecord, priority: number): Ranges {
  const held: Range[] = []
  for (const lock of record.locks.values()) {
    for (const stretch of lock.stretches) if (stretch.priority === priority) held.push(stretch)
  }
  return held.length === 0 ? none : normalised(held)
}

/** What a pop may take, in order. */
export function freeIn(record: QueueRecord, priority: number, lane: Lane): Ranges {
  const all = [{ from: lane.head, to: endOf(lane) }]
  const taken = union(union(lane.holes, lockedIn(record, priority)), lane.dead)
  return subtract(normalised(all), taken)
}

/** Stored and not settled, dead ones included. */
export function unsettledIn(lane: Lane): Ranges {
  return subtract(normalised([{ from: lane.head, to: endOf(lane) }]), lane.holes)
}

export function deliveriesOf(lane: Lane, sequence: number): number {
  for (const { from, to, count } of lane.deliveries)
    if (from <= sequence && sequence < to) return count
  return 0
}

export function stretchesIn(stretches: readonly Stretch[], priority: number): Ranges {
  return normalised(stretches.filter((stretch) => stretch.priority === priority))
}

export const itemsIn = (stretches: readonly Stretch[]): number => countOf(stretches)

export const isDone = (lock: Lock): boolean => lock.expiresAtMs === 0
export const isLive = (lock: Lock, nowMs: number): boolean => lock.expiresAtMs > nowMs
export const isExpired = (lock: Lock, nowMs: number): boolean =>
  !isDone(lock) && !isLive(lock, nowMs)

/**
 * What the record holds that costs it a range each, at worst: items of locks and dead items one by
 * one, holes by range (an item that is settled out of order makes at most one).
 */
export function inFlightOf(record: QueueRecord): number {
  let weight = 0
  for (const lock of record.locks.values()) weight += itemsIn(lock.stretches)
  for (const lane of record.lanes.values()) weight += lane.holes.length + countOf(lane.dead)
  return weight
}

export const inFlightRoom = (record: QueueRecord): number => IN_FLIGHT_MAX - record.inFlight

/** The mark that moved the record from `version` to `version + 1`, if it is still remembered. */
export function markAfter(record: QueueRecord, version: number): string | undefined {
  const back = record.version - (version + 1)
  if (back < 0 || back >= MARKS_KEPT) return undefined
  const at = record.marks.length - (back + 1) * MARK_CHARACTERS
  return at < 0 ? undefined : record.marks.slice(at, at + MARK_CHARACTERS)
}

export const withLane = (record: QueueRecord, priority: number, lane: Lane): QueueRecord => ({
  ...record,
  lanes: new Map(record.lanes).set(priority, lane),
})

export function withoutLane(record: QueueRecord, priority: number): QueueRecord {
  const lanes = new Map(record.lanes)
  lanes.delete(priority)
  return { ...record, lanes }
}

// ── As rows hold it ────────────────────────────────────────────────────────────────────────────

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
}

export type StoredLock =
  /** A claim: one stretch, whose start is under the same lock id in `F`. */
  | { x: number; p: number; n: number; k?: string }
  /** [priority, from, to, …] */
  | { x: number; r: number[]; k?: string }

export type StoredConfiguration = { v: number; z: number; b: number; m?: number; c?: number }

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
  checkAt?: number
  work?: string
  hold?: number
}

export function decodeRecord(stored: StoredRecord): QueueRecord {
  const lanes = new Map<number, Lane>()
  for (const [priority, lane] of Object.entries(stored.L)) {
    lanes.set(Number(priority), decodeLane(lane))
  }
  const locks = new Map<string, Lock>()
  for (const [lockId, lock] of Object.entries(stored.K)) {
    locks.set(lockId, decodeLock(lock, stored.F[lockId]))
  }
  return {
    queue: stored.pk.slice(2),
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
    checkAtMs: stored.checkAt,
    work: stored.work !== undefined,
    holdUntilMs: stored.hold ?? 0,
  }
}

function decodeLane(stored: StoredLane): Lane {
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
    epoch: stored.e,
    segmentSize: stored.z,
    head: stored.h,
    frontier: stored.f,
    sealed: stored.s,
    tail: stored.t,
    offloaded: stored.o === undefined ? noSegments : { from: stored.o[0], to: stored.o[1] },
    recalled: stored.r ?? 0,
    trimmed: stored.x ?? 0,
    holes: unflatten(stored.k),
    deliveries,
    dead,
  }
}

function decodeLock(stored: StoredLock, from: number | undefined): Lock {
  const key = stored.k === undefined ? {} : { keyHash: stored.k }
  if ('r' in stored) {
    const stretches: Stretch[] = []
    for (let i = 0; i < stored.r.length; i += 3) {
      stretches.push({
        priority: stored.r[i] as number,
        from: stored.r[i + 1] as number,
        to: stored.r[i + 2] as number,
      })
    }
    return { expiresAtMs: stored.x, stretches, ...key }
  }
  const start = from as number
  return {
    expiresAtMs: stored.x,
    stretches: [{ priority: stored.p, from: start, to: start + stored.n }],
    ...key,
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
): Pick<StoredLane, 'o' | 'r' | 'x' | 'k' | 'd' | 'q' | 'w'> {
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
  }
}

export function encodeLock(lock: Lock): Extract<StoredLock, { r: number[] }> {
  return {
    x: lock.expiresAtMs,
    r: lock.stretches.flatMap(({ priority, from, to }) => [priority, from, to]),
    ...(lock.keyHash !== undefined && { k: lock.keyHash }),
  }
}

function decodeConfiguration(stored: StoredConfiguration): Configuration {
  return {
    revision: stored.v,
    segmentSize: stored.z,
    bufferSegments: stored.b,
    ...(stored.m !== undefined && { maxDeliveries: stored.m }),
    ...(stored.c !== undefined && { capacity: stored.c }),
  }
}

export function encodeConfiguration(configuration: Configuration): StoredConfiguration {
  return {
    v: configuration.revision,
    z: configuration.segmentSize,
    b: configuration.bufferSegments,
    ...(configuration.maxDeliveries !== undefined && { m: configuration.maxDeliveries }),
    ...(configuration.capacity !== undefined && { c: configuration.capacity }),
  }
}

const endingCodes: Readonly<Record<Ending, string>> = {
  acknowledged: 'a',
  expired: 'x',
  released: 'r',
  'dead-lettered': 'd',
  purged: 'p',
}
const endings = Object.fromEntries(
  Object.entries(endingCodes).map(([ending, code]) => [code, ending as Ending]),
)
const LOCK_ID_CHARACTERS = 11

/** `aB3dE5gH7jKa2s.…`: lock id, how it ended, and its items in base 36. */
export const encodeEnded = (ended: readonly EndedLock[]): string =>
  ended
    .map(({ lockId, ending, items }) => `${lockId}${endingCodes[ending]}${items.toString(36)}`)
    .join('.')

function decodeEnded(stored: string): EndedLock[] {
  if (stored === '') return []
  return stored.split('.').map((text) => ({
    lockId: text.slice(0, LOCK_ID_CHARACTERS),
    ending: endings[text[LOCK_ID_CHARACTERS] as string] as Ending,
    items: Number.parseInt(text.slice(LOCK_ID_CHARACTERS + 1), 36),
  }))
}

export const stretchesOf = (priority: number, ranges: Ranges): Stretch[] =>
  ranges.map(({ from, to }) => ({ priority, from, to }))

/** The part of a stretch list that is still unsettled. */
export function unsettledPart(record: QueueRecord, priority: number, ranges: Ranges): Ranges {
  const lane = record.lanes.get(priority)
  return lane === undefined ? none : intersect(ranges, unsettledIn(lane))
}
