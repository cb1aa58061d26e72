// What becomes of items at the end of a lock, or of a part of one: they are settled, so that the head moves over them
// or they become holes; they come back to the front at once or, from a retry lock, later; or they are dead and wait,
// invisible, for their move to the dead-letter queue. All of it changes the record under the fence, and only what is
// unsettled: whatever an earlier write has settled stays so.

import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { entryBytes, isReference, spanOf } from './item.ts'
import { ENTRIES_PER_SEAL } from './limits.ts'
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
import {
  type Delivered,
  isDone,
  isLive,
  type Lane,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
  unsettledIn,
  withLane,
} from './record.ts'

/** Pieces of delivery counts in a record (some 20 bytes each), shared by its lanes; beyond them each lane has one. */
export const DELIVERY_PIECES_MAX = 2_000

/** Takes items out of the queue for good: the head moves over them, or they become holes. */
export function settle(record: QueueRecord, stretches: readonly Stretch[]): QueueRecord {
  return eachLane(record, stretches, (lane, ranges) => {
    const settled = intersect(ranges, unsettledIn(lane))
    return { lane: settleInLane(lane, settled), roomFreed: countOf(settled) }
  })
}

function settleInLane(lane: Lane, settled: Ranges): Lane {
  const holes = union(lane.holes, settled)
  const first = holes[0]
  const reached = first !== undefined && first.from <= lane.head
  const head = reached ? first.to : lane.head
  return {
    ...lane,
    head,
    // The head may move past the frontier over items that calls by id took out.
    frontier: Math.max(lane.frontier, head),
    holes: reached ? holes.slice(1) : holes,
    deliveries: without(lane.deliveries, settled),
    dead: without(lane.dead, settled),
  }
}

/** Free items that it skips stay behind the frontier, where only fenced pops take them. */
export function passFrontier(record: QueueRecord, stretches: readonly Stretch[]): QueueRecord {
  const lanes = new Map(record.lanes)
  for (const { priority, to } of stretches) {
    const lane = lanes.get(priority) as Lane
    if (to > lane.frontier) lanes.set(priority, { ...lane, frontier: to })
  }
  return { ...record, lanes }
}

/**
 * Gives items back to the front. They never left their place, so nothing moves: only their count
 * of deliveries rises, and items that came back too often become dead instead of visible.
 */
export function giveBack(record: QueueRecord, stretches: readonly Stretch[]): QueueRecord {
  const most = deliveriesMax(record)
  const returned = eachLane(record, stretches, (lane, ranges, so) => {
    const { raised, deliveries } = delivered(so, lane, intersect(ranges, unsettledIn(lane)))
    const dead = raised
      .filter(({ count }) => count >= most)
      .map(({ from, to }) => ({ from, to, reason: 'max_deliveries' }))
    return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }
  })
  return { ...returned, returns: returned.returns + 1 }
}

const deliveriesMax = ({ queue, configuration }: QueueRecord): number =>
  isDeadLetterQueue(queue)
    ? Number.POSITIVE_INFINITY
    : (configuration.maxDeliveries ?? Number.POSITIVE_INFINITY)

/** The items that would become dead if they came back now. */
function spentOf(record: QueueRecord, stretches: readonly Stretch[]): Stretch[] {
  const most = deliveriesMax(record)
  if (most === Number.POSITIVE_INFINITY) return []
  return [...new Set(stretches.map(({ priority }) => priority))].flatMap((priority) => {
    const lane = record.lanes.get(priority)
    if (lane === undefined) return []
    return intersect(stretchesIn(stretches, priority), unsettledIn(lane))
      .flatMap((range) => raise(lane.deliveries, range))
      .flatMap(({ from, to, count }) => (count < most ? [] : [{ priority, from, to }]))
  })
}

/** Marks items as on their way to the dead-letter queue; `deliveredNow`: 0 if no consumer had them. */
export function bury(
  record: QueueRecord,
  stretches: readonly Stretch[],
  reason: string,
  deliveredNow: 0 | 1 = 1,
): QueueRecord {
  return eachLane(record, stretches, (lane, ranges, so) => {
    const buried = intersect(ranges, unsettledIn(lane))
    const { deliveries } = deliveredNow === 0 ? lane : delivered(so, lane, buried)
    const dead = buried.map(({ from, to }) => ({ from, to, reason }))
    return { lane: { ...lane, deliveries, dead: inOrder([...lane.dead, ...dead]) }, roomFreed: 0 }
  })
}

function eachLane(
  record: QueueRecord,
  stretches: readonly Stretch[],
  /** `so`: the record with the lanes that are changed already. */
  change: (lane: Lane, ranges: Ranges, so: QueueRecord) => { lane: Lane; roomFreed: number },
): QueueRecord {
  let next = record
  for (const priority of new Set(stretches.map((stretch) => stretch.priority))) {
    const lane = next.lanes.get(priority)
    if (lane === undefined) continue
    const { lane: changed, roomFreed } = change(lane, stretchesIn(stretches, priority), next)
    next = { ...withLane(next, changed), room: next.room + roomFreed }
  }
  return next
}

function without<T extends Range>(list: readonly T[], ranges: Ranges): T[] {
  return list.flatMap((piece) => subtract([piece], ranges).map((rest) => ({ ...piece, ...rest })))
}

// A lane counts the deliveries of items that came back, as ranges with one count each.

/** Counts one more delivery of these items: returns their new counts, and all counts of the lane. */
function delivered(record: QueueRecord, lane: Lane, ranges: Ranges) {
  const raised = ranges.flatMap((range) => raise(lane.deliveries, range))
  const all = joined([...without(lane.deliveries, ranges), ...raised])
  return { raised, deliveries: bounded(all, piecesLeft(record, lane)) }
}

/** The range, cut into pieces of equal count, each count raised by one. */
function raise(deliveries: readonly Delivered[], range: Range): Delivered[] {
  const known: Delivered[] = []
  for (const piece of deliveries) {
    for (const part of intersect([range], [piece])) known.push({ ...part, count: piece.count + 1 })
  }
  const fresh = subtract([range], known.length === 0 ? none : normalised(known))
  return inOrder([...known, ...fresh.map((part) => ({ ...part, count: 1 }))])
}

function joined(list: readonly Delivered[]): Delivered[] {
  const result: Delivered[] = []
  for (const piece of inOrder(list)) {
    const last = result.at(-1)
    if (last !== undefined && last.to === piece.from && last.count === piece.count) {
      result[result.length - 1] = { ...last, to: piece.to }
    } else {
      result.push(piece)
    }
  }
  return result
}

/**
 * Keeps the pieces with the most deliveries. Only a deliberate pattern of releases leads here; an item
 * whose count we drop may be handed out more often than it should, never less often.
 */
function bounded(list: readonly Delivered[], pieces: number): readonly Delivered[] {
  const most = Math.max(1, pieces)
  if (list.length <= most) return list
  return inOrder([...list].sort((a, b) => b.count - a.count).slice(0, most))
}

/** Pieces a lane may have: what the others leave of the record's bound, of which each lane has one anyway. */
function piecesLeft(record: QueueRecord, lane: Lane): number {
  let others = 0
  for (const other of record.lanes.values()) if (other !== lane) others += other.deliveries.length
  return DELIVERY_PIECES_MAX - others
}

function inOrder<T extends { readonly from: number }>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => a.from - b.from)
}

// Settled entries leave the front of the tail.

/**
 * Drops settled items from the front of the tail, as a prefix. It stops at a reference: that is
 * the only pointer to its batch, and stays until housekeeping has deleted the batch's rows.
 */
export function pruneTail(lane: Lane, entriesMax: number): { lane: Lane; bytes: number } {
  return dropFromTail(lane, entriesMax, (entry, from) => !isReference(entry) && from < lane.head)
}

/** Drops leading entries that are wholly settled, including references up to `goneTo`, whose rows are gone. */
export function dropSettledTail(lane: Lane, goneTo: number): { lane: Lane; bytes: number } {
  return dropFromTail(lane, ENTRIES_PER_SEAL, (entry, from) => {
    const end = from + spanOf(entry)
    return end <= lane.head && (!isReference(entry) || end <= goneTo)
  })
}

function dropFromTail(
  lane: Lane,
  entriesMax: number,
  droppable: (entry: string, from: number) => boolean,
): { lane: Lane; bytes: number } {
  let sealed = lane.sealed
  let bytes = 0
  let dropped = 0
  for (const entry of lane.tail) {
    if (dropped === entriesMax || !droppable(entry, sealed)) break
    sealed += spanOf(entry)
    bytes += entryBytes(entry)
    dropped += 1
  }
  if (dropped === 0) return { lane, bytes: 0 }
  return { lane: { ...lane, sealed, tail: lane.tail.slice(dropped) }, bytes }
}

// The signs of a lock say what sort it is. A pop's lock that an API caller holds has none.

/** A consumer's run holds it. */
export const CONSUMERS = 'c'
/** It has no holder: items that were released with a delay wait in it. */
export const WAITS = 'w'
/** Others may overtake those items. */
const OVERTAKEN = 'o'

type Signed = Pick<Lock, 'signs'>

export const isConsumers = ({ signs = '' }: Signed): boolean => signs.includes(CONSUMERS)

/** While a retry lock is live, no consumer has its items, and no pop returns them. */
export const isRetry = ({ signs = '' }: Signed): boolean => signs.includes(WAITS)

/** Whether pops of an exclusive queue pass this lock. */
export const isOvertaken = ({ signs = '' }: Signed): boolean => signs.includes(OVERTAKEN)

/** A lock id: 8 random bytes as 11 characters of URL-safe base64. */
export function randomLockId(random: () => number): string {
  const bytes = Buffer.alloc(8)
  for (let i = 0; i < 8; i += 1) bytes[i] = Math.floor(random() * 256)
  return bytes.toString('base64url')
}

// Items that were released with a delay wait in a *retry lock*: a lock without a holder, whose id no caller knows.
// When its time is over it ends as any other lock does, so the items keep their places and their counts.

/** Retry locks (some 40 bytes each) that a record has before releases share them: 1 KB, or a write unit. */
export const RETRY_LOCKS_APART = 16
/** Ranges of a shared retry lock: as many as a pop's lock may have; one write ends them all. */
const RETRY_STRETCHES_MAX = 100

/** Where items go when a consumer releases them with a delay: their lock, and when it ends. */
export type Again = {
  readonly lockId: string
  readonly signs: string
  readonly dueMs: number
  /** The latest time at which it may end, when many items wait and share locks. */
  readonly latestMs: number
}

/** For a release with this delay from now on. A shared lock may end later by up to a sixteenth of the delay. */
export const againAfter = (
  lockId: string,
  { delayMs, overtake }: { readonly delayMs: number; readonly overtake: boolean },
  nowMs: number,
): Again => ({
  lockId,
  signs: overtake ? WAITS + OVERTAKEN : WAITS,
  dueMs: nowMs + delayMs,
  latestMs: nowMs + Math.ceil((delayMs * 17) / 16),
})

/**
 * Puts items of a lock that has ended into a retry lock. Items that have had their last delivery do not wait: in an
 * exclusive queue, the other items would wait with them in vain.
 */
export function comeBackLater(
  record: QueueRecord,
  stretches: readonly Stretch[],
  again: Again,
): QueueRecord {
  const spent = spentOf(record, stretches)
  const waiting = stretches.flatMap(({ priority, from, to }) =>
    subtract([{ from, to }], stretchesIn(spent, priority)).map((range) => ({ priority, ...range })),
  )
  const returned = spent.length > 0 ? giveBack(record, spent) : record
  if (waiting.length === 0) return returned
  return { ...returned, locks: new Map(returned.locks).set(...lockFor(returned, waiting, again)) }
}

/**
 * A separate lock that ends when the items are due. If a record had many of those, each write would pay for them until
 * the last has ended. So with many of them, items join a lock that ends soon after, and neighbouring single items
 * become one range.
 */
function lockFor(
  record: QueueRecord,
  waiting: readonly Stretch[],
  { lockId, signs, dueMs, latestMs }: Again,
): [string, Lock] {
  const retries = [...record.locks].filter(([, lock]) => isRetry(lock))
  if (retries.length < RETRY_LOCKS_APART) {
    return [lockId, { expiresAtMs: dueMs, stretches: waiting, signs }]
  }
  for (const [id, lock] of retries) {
    if (lock.signs !== signs) continue
    if (lock.expiresAtMs < dueMs || lock.expiresAtMs > latestMs) continue
    const stretches = joinedStretches([...lock.stretches, ...waiting])
    if (stretches.length <= RETRY_STRETCHES_MAX) return [id, { ...lock, stretches }]
  }
  return [lockId, { expiresAtMs: latestMs, stretches: waiting, signs }]
}

const joinedStretches = (stretches: readonly Stretch[]): Stretch[] =>
  [...new Set(stretches.map(({ priority }) => priority))].flatMap((priority) =>
    stretchesOf(priority, stretchesIn(stretches, priority)),
  )

/**
 * Whether the end of a lock changes nothing for the items behind it: a retry lock took its place, and they go on
 * waiting behind that; or they may overtake it, and another consumer is at work. The lock's own holder may be gone.
 */
export function goesToRetry(lock: Lock, { locks }: QueueRecord, isWorkedOn: boolean): boolean {
  return [...locks.values()].some(
    (other) =>
      isRetry(other) &&
      (isWorkedOn || !isOvertaken(other)) &&
      other.stretches.some((stretch) => holds(lock, stretch)),
  )
}

const holds = ({ stretches }: Lock, { priority, from, to }: Stretch): boolean =>
  stretches.some((held) => held.priority === priority && held.from < to && from < held.to)

/** Whether a consumer has a lock. It may acknowledge outside the fence, so only a write's images tell for certain. */
export const isWorkedOn = ({ locks }: QueueRecord): boolean =>
  [...locks.values()].some((lock) => !isRetry(lock) && !isDone(lock))

export const hasRetry = ({ locks }: QueueRecord): boolean => [...locks.values()].some(isRetry)

/** Items of a lane that retry locks hold. */
export const inRetry = ({ locks }: QueueRecord, priority: number): Ranges =>
  normalised(
    [...locks.values()].flatMap((lock) =>
      isRetry(lock) ? stretchesIn(lock.stretches, priority) : [],
    ),
  )

/** Items of a lane that wait for their retry, grouped by its time. */
export function retriesIn(
  record: QueueRecord,
  priority: number,
  nowMs: number,
): { readonly retryAtMs: number; readonly ranges: Ranges }[] {
  return [...record.locks.values()]
    .filter((lock) => isRetry(lock) && isLive(lock, nowMs))
    .map(({ expiresAtMs, stretches }) => ({
      retryAtMs: expiresAtMs,
      ranges: stretchesIn(stretches, priority),
    }))
}

/** Until when a retry holds back the pops of an exclusive queue, if one does. */
export function blockedUntilMs(record: QueueRecord, nowMs: number): number | undefined {
  const ends = [...record.locks.values()]
    .filter((lock) => isRetry(lock) && !isOvertaken(lock) && isLive(lock, nowMs))
    .map(({ expiresAtMs }) => expiresAtMs)
  return ends.length === 0 ? undefined : Math.max(...ends)
}
