import { type Configuration, roomOf } from './configuration.ts'
import { spanOf } from './entry.ts'
import { MARKS_KEPT } from './limits.ts'
import type { NotesMoved } from './notes.ts'
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
import type { Run } from './runs.ts'
import type { Scheduled } from './scheduled.ts'

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
  /** The marks of the last `MARKS_KEPT` fenced writes, newest last, six characters each. */
  readonly marks: string
  readonly ended: readonly EndedLock[]
  readonly lastEndedMs: number
  readonly lanes: ReadonlyMap<number, Lane>
  readonly locks: ReadonlyMap<string, Lock>
  /** Over all lanes and notes; changed by adding alone, as the counts below are. */
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
  /** Of entries for callers' own transactions: how many are remembered as used, and how many were. */
  readonly tokens: { readonly kept: number; readonly forgotten: number }
  /** Of pushes with a key, by its hash, as `notes.ts` encodes them; only a fenced write changes or drops one. */
  readonly notes: ReadonlyMap<string, string>
  readonly moved: NotesMoved
  /** The last message of the inbox that was applied: a queue that has none was never pushed to by it. */
  readonly sequence: string | undefined
  /**
   * Of format 2: some item had times of its own, or all have, or one was taken out by its id ahead of the frontier.
   * Engines that do not know of these must leave the record alone.
   */
  readonly timed: boolean
  /** Items whose time has not come: they are in no lane. */
  readonly scheduled: Scheduled
  readonly checkAtMs: number | undefined
  /** The write that set the timer found it near, so the stream announces it (`timers.ts`). */
  readonly near: boolean
  /** The sweeper's note on items that nobody takes. */
  readonly reminder: Reminder | undefined
  readonly work: boolean
  /** Nothing is free to pop. Only writes that know it say so; every append takes it back. */
  readonly dry: boolean
  /**
   * The last write made the queue with items, ended locks without acknowledging, made items dead or
   * announced the queue again: events come of it.
   */
  readonly notable: boolean
  /** Claims stand back until then: a starving fenced write asked them to. */
  readonly holdUntilMs: number
}

export type Lane = {
  readonly priority: number
  readonly epoch: string
  readonly segmentSize: number
  readonly head: number
  readonly frontier: number
  readonly sealed: number
  readonly tail: readonly string[]
  /** Where the sealed numbers ahead of the head lie, each behind the one before. */
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

export type Lock = {
  /** 0: acknowledged, and waiting for a fenced write to fold it into head and holes. */
  readonly expiresAtMs: number
  readonly stretches: readonly Stretch[]
  /** Hash of the pop's idempotency key. */
  readonly keyHash?: string | undefined
}

/** The sweeper's note on items that nobody takes (`reminder.ts`). */
export type Reminder = {
  /** Announcements so far; 0 after the first look. */
  readonly times: number
  /** Sum of all frontiers: rises whenever somebody takes what nobody had before. */
  readonly taken: number
  /** When it was looked at first, or announced last. */
  readonly sinceMs: number
}

/** How a lock ended. */
export type Ending = 'acknowledged' | 'expired' | 'released' | 'dead-lettered' | 'purged'
export type EndedLock = { readonly lockId: string; readonly ending: Ending; readonly items: number }

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

export function endOf(lane: Lane): number {
  let end = lane.sealed
  for (const entry of lane.tail) end += spanOf(entry)
  return end
}

export const segmentOf = (lane: Lane, sequence: number): number =>
  Math.floor(sequence / lane.segmentSize)

/** Under other settings, which leave as much more or less room as they have capacity. */
export const reconfigured = (record: QueueRecord, configuration: Configuration): QueueRecord => ({
  ...record,
  configuration,
  // An engine that does not know this setting would hand out what has expired.
  timed: record.timed || configuration.itemTtlSeconds !== undefined,
  room: record.room + roomOf(configuration) - roomOf(record.configuration),
})

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
export function freeIn(record: QueueRecord, lane: Lane): Ranges {
  const all = [{ from: lane.head, to: endOf(lane) }]
  const taken = union(union(lane.holes, lockedIn(record, lane.priority)), lane.dead)
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

/** Those on their way to the dead-letter queue. */
export function deadIn(record: QueueRecord): number {
  let count = 0
  for (const { dead } of record.lanes.values()) count += countOf(dead)
  return count
}

/** The mark that moved the record from `version` to `version + 1`, if it is still remembered. */
export function markAfter(record: QueueRecord, version: number): string | undefined {
  const back = record.version - (version + 1)
  if (back < 0 || back >= MARKS_KEPT) return undefined
  const at = record.marks.length - (back + 1) * MARK_CHARACTERS
  return at < 0 ? undefined : record.marks.slice(at, at + MARK_CHARACTERS)
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

export const stretchesOf = (priority: number, ranges: Ranges): Stretch[] =>
  ranges.map(({ from, to }) => ({ priority, from, to }))

/** The part of a stretch list that is still unsettled. */
export function unsettledPart(record: QueueRecord, priority: number, ranges: Ranges): Ranges {
  const lane = record.lanes.get(priority)
  return lane === undefined ? none : intersect(ranges, unsettledIn(lane))
}
