// The record of a queue as the engine thinks of it, and what follows from its fields alone. Races are settled where it
// is written: a fenced write passes only on the version it has seen; appends, claims and acknowledgements change it
// beside the fence, each under its own conditions, and are counted.

import { spanOfAll } from './item.ts'
import { IN_FLIGHT_MAX, MARKS_KEPT } from './limits.ts'
import {
  countOf,
  intersect,
  none,
  normalised,
  type Range,
  type Ranges,
  subtract,
  union,
} from './ranges.ts'
import { type Configuration, roomOf } from './settings.ts'

/** Immutable: a decision makes a new one, and `fencedUpdate` writes the difference, never a whole lane or record. */
export type QueueRecord = {
  readonly queue: string
  /** Each fenced write adds one. */
  readonly version: number
  /** Random, so that a queue that was forgotten and made again never passes an old fence. */
  readonly born: string
  /** The marks of the last `MARKS_KEPT` fenced writes, newest last, six characters each. */
  readonly marks: string
  readonly ended: readonly EndedLock[]
  readonly lastEndedMs: number
  readonly lanes: ReadonlyMap<number, Lane>
  readonly locks: ReadonlyMap<string, Lock>
  /** Over all lanes and notes. Writes only ever add to it, as to the counts below. */
  readonly tailBytes: number
  readonly appends: number
  /** Counts claims and extensions, which change locks and frontiers beside the fence. */
  readonly claims: number
  readonly lanesMade: number
  readonly inFlight: number
  /** Items that may still be pushed; starts at the capacity. */
  readonly room: number
  /** Room that pushes may not take, because due items wait for it (`plan-join.ts`). */
  readonly keptRoom: number
  /** Counts the times that something came back to the front. */
  readonly returns: number
  readonly configuration: Configuration
  /** Used tokens of entries for callers' own transactions: how many the record still has, and how many it forgot. */
  readonly tokens: { readonly kept: number; readonly forgotten: number }
  /** Notes of pushes with a key, by its hash, in the form of `repeated-pushes.ts`. Only a fenced write changes or drops one. */
  readonly notes: ReadonlyMap<string, string>
  readonly moved: NotesMoved
  /** The last inbox message that was applied; undefined if the inbox never pushed to this queue. */
  readonly sequence: string | undefined
  /**
   * Some or all items have, or had, times of their own, or the queue gives them some: pops look whether items have
   * expired before they hand them out. It stays until the record is forgotten.
   */
  readonly timed: boolean
  /** Items whose time has not come: they are in no lane. */
  readonly scheduled: Scheduled
  readonly checkAtMs: number | undefined
  /** The write that set the timer found it near, so the stream announces it (`isNear`). */
  readonly near: boolean
  /** The sweeper's note on items that nobody takes. */
  readonly reminder: Reminder | undefined
  readonly work: boolean
  /** Nothing is free to pop. Only a write that knows this sets it; every append clears it. */
  readonly dry: boolean
  /**
   * The last write made the queue with items, ended locks without acknowledging, made items dead, announced the queue
   * again, or let pops go on that were refused because too much was dead or in flight: events come of it.
   */
  readonly notable: boolean
  /** Claims stand back until then: a starving fenced write asked them to. */
  readonly holdUntilMs: number
  /** No pop takes anything until then. Present while the record has a gate, also one whose time is over. */
  readonly gateUntilMs: number | undefined
}

export type Lane = {
  readonly priority: number
  readonly epoch: string
  readonly segmentSize: number
  readonly head: number
  readonly frontier: number
  readonly sealed: number
  readonly tail: readonly string[]
  /** Where the sealed numbers ahead of the head lie, as adjoining runs. */
  readonly runs: readonly Run[]
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

/**
 * Answers leave two kinds out. `unknown`: the record had no room to note where a seal put the run, or it was joined
 * and is worth offloading. `batches`: a joined run that is better left in place: some of it lies in batches in S3,
 * or most of it in batches.
 */
export type Run = Range & { readonly in: SealedPlace | 'unknown' | 'batches' }

/** Chunk rows; or a batch in rows or in S3, to which a chunk row refers. */
export type SealedPlace = 'rows' | 'batch-rows' | 'batch-s3'

export type Lock = {
  /** 0: acknowledged, and waiting for a fenced write to fold it into head and holes. */
  readonly expiresAtMs: number
  readonly stretches: readonly Stretch[]
  /** Hash of the pop's idempotency key. */
  readonly keyHash?: string | undefined
  /** What sort of lock it is, a letter for each thing to say (`settling.ts`). Letters that we do not know stay. */
  readonly signs?: string | undefined
}

/** The sweeper's note about items that nobody takes (`fence.ts`). */
export type Reminder = {
  /** Announcements so far; 0 after the first look. */
  readonly times: number
  /** Sum of all frontiers: it rises whenever somebody takes an item that was never handed out before. */
  readonly taken: number
  /** When the sweeper first looked, or last announced the queue. */
  readonly sinceMs: number
}

/** How a lock ended. */
export type Ending = 'acknowledged' | 'expired' | 'released' | 'dead-lettered' | 'purged'
export type EndedLock = { readonly lockId: string; readonly ending: Ending; readonly items: number }

/** Keys whose notes have left the record: a receipt took a note's place, or its time was over. */
export type NotesMoved = {
  /** How many of them have no mark any more. */
  readonly forgotten: number
  /** The marks of the last ones. */
  readonly marks: string
}

/** What the record knows of the scheduled items. */
export type Scheduled = {
  /** The entries in the record itself, in the order in which they came. */
  readonly entries: readonly string[]
  /** Items, in the record and in rows. */
  readonly items: number
  /** Bytes of the entries in the record. Writes only ever add to this and to `items`. */
  readonly bytes: number
  /** Every write that takes an entry out of the record, or changes rows, needs this to be as seen, and raises it. */
  readonly changes: number
  /** Seals so far. */
  readonly seals: number
  /** The earliest due second of the rows, or an earlier one; never a later one. */
  readonly nextDue: number | undefined
  /**
   * Sort keys of rows that a read may not show yet. Readers can see a DynamoDB transaction item by item: a process that
   * reads the new record may still miss the rows that the same write has put.
   */
  readonly unseen: readonly string[]
  /** Only rows of this era belong to the queue. Each purge begins a new one. */
  readonly era: number
  /** Purges whose rows are not all deleted yet, the earliest first. */
  readonly purged: readonly string[]
}

export const MARK_CHARACTERS = 6
export const EPOCH_CHARACTERS = 8

export const noSegments: Range = { from: 0, to: 0 }

export function newLane(
  { priority, epoch, segmentSize }: Pick<Lane, 'priority' | 'epoch' | 'segmentSize'>,
  tail: readonly string[] = [],
): Lane {
  return {
    priority,
    epoch,
    segmentSize,
    head: 0,
    frontier: 0,
    sealed: 0,
    tail,
    runs: [],
    offloaded: noSegments,
    recalled: 0,
    trimmed: 0,
    holes: none,
    deliveries: [],
    dead: [],
  }
}

/** The record under other settings; its room changes by as much as its capacity. */
export const reconfigured = (record: QueueRecord, configuration: Configuration): QueueRecord => ({
  ...record,
  configuration,
  timed: record.timed || configuration.itemTtlSeconds !== undefined,
  room: record.room + roomOf(configuration) - roomOf(record.configuration),
})

// What follows from one lane.

/** Of these priorities the one next to another; of two the better. */
export const nearestTo = (priority: number, priorities: Iterable<number>): number => {
  let nearest = Number.POSITIVE_INFINITY
  for (const one of priorities) {
    const by = Math.abs(one - priority) - Math.abs(nearest - priority)
    if (by < 0 || (by === 0 && one < nearest)) nearest = one
  }
  return nearest
}

export const endOf = ({ sealed, tail }: Lane): number => sealed + spanOfAll(tail)

export const segmentOf = (lane: Lane, sequence: number): number =>
  Math.floor(sequence / lane.segmentSize)

/** Stored and not settled, dead ones included. */
export function unsettledIn(lane: Lane): Ranges {
  return subtract(normalised([{ from: lane.head, to: endOf(lane) }]), lane.holes)
}

export function deliveriesOf(lane: Lane, sequence: number): number {
  for (const { from, to, count } of lane.deliveries)
    if (from <= sequence && sequence < to) return count
  return 0
}

// What follows from the whole record.

/** Lanes in the order that a pop serves them. */
export function lanesInOrder(record: QueueRecord): [number, Lane][] {
  return [...record.lanes].sort(([a], [b]) => a - b)
}

export const withLane = (record: QueueRecord, lane: Lane): QueueRecord => ({
  ...record,
  lanes: new Map(record.lanes).set(lane.priority, lane),
})

export function withoutLane(record: QueueRecord, priority: number): QueueRecord {
  const lanes = new Map(record.lanes)
  lanes.delete(priority)
  return { ...record, lanes }
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
export function freeIn(record: QueueRecord, lane: Lane): Ranges {
  const all = [{ from: lane.head, to: endOf(lane) }]
  const taken = union(union(lane.holes, lockedIn(record, lane.priority)), lane.dead)
  return subtract(normalised(all), taken)
}

export function hasFree(record: QueueRecord): boolean {
  for (const lane of record.lanes.values()) {
    if (lane.head < endOf(lane) && freeIn(record, lane).length > 0) return true
  }
  return false
}

/** The part of a stretch list that is still unsettled. */
export function unsettledPart(record: QueueRecord, priority: number, ranges: Ranges): Ranges {
  const lane = record.lanes.get(priority)
  return lane === undefined ? none : intersect(ranges, unsettledIn(lane))
}

/**
 * How many ranges the record may cost at worst: one for each locked and each dead item, and one for
 * each hole (an item that is settled out of order makes at most one).
 */
export function inFlightOf(record: QueueRecord): number {
  let weight = 0
  for (const lock of record.locks.values()) weight += itemsIn(lock.stretches)
  for (const lane of record.lanes.values()) weight += lane.holes.length + countOf(lane.dead)
  return weight
}

/** How much heavier the record may become. */
export const roomIn = (record: QueueRecord): number =>
  Math.max(0, IN_FLIGHT_MAX - inFlightOf(record))

/** How many items are on their way to the dead-letter queue. */
export function deadIn(record: QueueRecord): number {
  let count = 0
  for (const { dead } of record.lanes.values()) count += countOf(dead)
  return count
}

/** The mark of the write that moved the record from `version` to `version + 1`, if the record still has it. */
export function markAfter(record: QueueRecord, version: number): string | undefined {
  const back = record.version - (version + 1)
  if (back < 0 || back >= MARKS_KEPT) return undefined
  const at = record.marks.length - (back + 1) * MARK_CHARACTERS
  return at < 0 ? undefined : record.marks.slice(at, at + MARK_CHARACTERS)
}

// What follows from stretches of items, and from locks.

export const stretchesOf = (priority: number, ranges: Ranges): Stretch[] =>
  ranges.map(({ from, to }) => ({ priority, from, to }))

export function stretchesIn(stretches: readonly Stretch[], priority: number): Ranges {
  return normalised(stretches.filter((stretch) => stretch.priority === priority))
}

export const itemsIn = (stretches: readonly Stretch[]): number => countOf(stretches)

export const isDone = (lock: Lock): boolean => lock.expiresAtMs === 0
export const isLive = (lock: Lock, nowMs: number): boolean => lock.expiresAtMs > nowMs
export const isExpired = (lock: Lock, nowMs: number): boolean =>
  !isDone(lock) && !isLive(lock, nowMs)

// A record has one timer, `checkAt`. If a consumer may wait for it (a lock that ends), it is *prompt*, and `Wake`
// comes for it within a second or so. If no consumer waits (a reminder, an empty queue that can go), it is *patient*:
// Wake does not stay awake for it, and the sweep that runs each minute comes for it. Times are whole milliseconds, so
// half a millisecond can say which kind it is: in the index's own key, without another attribute.

/**
 * The stream must announce a prompt timer that ends sooner than this. The sweep looks this far ahead and comes
 * every minute, so it sees all others in time, even if it starts half a minute late.
 */
export const NEAR_MS = 90_000

/** Makes a time patient: half a millisecond before it. */
export const patiently = (atMs: number): number => Math.ceil(atMs) - 0.5

export const isPatient = (atMs: number): boolean => atMs % 1 === 0.5

/** Whether the stream must announce it (the record's flag `wk`). */
export const isNear = (atMs: number | undefined, nowMs: number): boolean =>
  atMs !== undefined && !isPatient(atMs) && atMs < nowMs + NEAR_MS

/** A patient time must not hide a later prompt one: in front of one, it counts as prompt. */
export const asPrompt = (atMs: number): number => Math.floor(atMs)

/** The earliest of several times, for the one timer. */
export function earliestOf(times: readonly (number | undefined)[]): number | undefined {
  const wanted = times.filter((time) => time !== undefined)
  if (wanted.length === 0) return undefined
  const earliest = Math.min(...wanted)
  return wanted.every(isPatient) ? earliest : asPrompt(earliest)
}
