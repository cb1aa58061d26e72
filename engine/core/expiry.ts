// An item is over once it has expired: from then on, no pop hands it out. The expiry is in its entry, so a pop
// reads the entries before it hands items out, and removes those that are over in the same write. Nothing removes
// them earlier: no process runs just because an item expires. A record that is not `timed` holds no such item, so
// pops do not look.

import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { decodeItem, type Item } from './item.ts'
import { EXPIRED_DEAD_MAX } from './limits.ts'
import { endLock } from './locks.ts'
import { outOfLocks } from './named-items.ts'
import { deadIn, itemsIn, type Lock, type QueueRecord, roomIn, type Stretch } from './record.ts'
import type { QueueSettings } from './settings.ts'
import { bury, passFrontier, settle } from './settling.ts'

/**
 * Expired items that one write removes from the queue. A stretch of numbers costs the record nothing, but a pop has to
 * read the items first: five segments of them. Dead ones stay in the record until they have moved, a hundred at a time.
 */
const EXPIRED_PER_WRITE = { discarded: 500, dead: 100 }
/** Lanes that those may be in: at worst some 100 bytes of expression each, beside the rest of the write. */
const EXPIRED_LANES_PER_WRITE = 20

/** The reason that expired items get when we dead-letter them. */
const REASON = 'expired'

/** When pops stop returning the item: by its own expiry or by the queue's, whichever comes first. */
export function expiryOf(
  { expiresAtMs, dueMs = 0, redrivenMs = 0, pushedAtMs, deadLetteredAtMs }: Item,
  { itemTtlSeconds }: Pick<QueueSettings, 'itemTtlSeconds'>,
): number | undefined {
  if (itemTtlSeconds === undefined) return expiresAtMs
  // For a dead letter the time counts from its death, for a redriven item from the redrive. A scheduled item
  // counts as pushed when it was due, or later; a scheduled dead letter as if it had died then.
  const sinceMs = Math.max(deadLetteredAtMs ?? pushedAtMs, dueMs, redrivenMs)
  return Math.min(expiresAtMs ?? Number.POSITIVE_INFINITY, sinceMs + 1_000 * itemTtlSeconds)
}

export function hasExpired(entry: string, { configuration }: QueueRecord, nowMs: number): boolean {
  const expiresAtMs = expiryOf(decodeItem(entry), configuration)
  return expiresAtMs !== undefined && expiresAtMs <= nowMs
}

/** Whether expired items become dead letters. A dead-letter queue has no dead letters of its own. */
const isDeadLettered = ({ queue, configuration }: QueueRecord): boolean =>
  configuration.expired === 'dead_letter' && !isDeadLetterQueue(queue)

/** Removes items that are over: for good, or by marking them dead, on their way to the dead letters. */
export function passOver(record: QueueRecord, over: readonly Stretch[]): QueueRecord {
  const passed = passFrontier(record, over)
  return isDeadLettered(record) ? bury(passed, over, REASON, 0) : settle(passed, over)
}

/**
 * The same for items that wait for their retry: they leave their locks. A lock that holds no other items ends, and with
 * it the wait of all that is behind it in an exclusive queue.
 */
export function passOverWaiting(
  record: QueueRecord,
  over: readonly Stretch[],
  nowMs: number,
): QueueRecord {
  const freed = outOfLocks(record, over, nowMs)
  // The delivery after which a consumer released them counts only now.
  return isDeadLettered(record) ? bury(freed, over, REASON) : settle(freed, over)
}

/** Removes expired items from a lock that was just made, and from the queue: only its maker knows of the lock. */
export function passOverLocked(
  record: QueueRecord,
  lockId: string,
  { over, kept }: Pick<FoundByPop, 'over' | 'kept'>,
  nowMs: number,
): QueueRecord {
  const lock = { ...(record.locks.get(lockId) as Lock), stretches: kept }
  const held = { ...record, locks: new Map(record.locks).set(lockId, lock) }
  // If nothing is left in the lock, no consumer waits for its end: it ends as if acknowledged.
  const draft = kept.length > 0 ? held : endLock(held, lockId, 'acknowledged', nowMs)
  return passOver(draft, over)
}

/** How many items one write may pass over. Only those that become dead count against the bound of dead items. */
export const passableIn = (record: QueueRecord): number =>
  isDeadLettered(record)
    ? Math.min(EXPIRED_PER_WRITE.dead, mayDie(record), roomIn(record))
    : EXPIRED_PER_WRITE.discarded

/** How many of them one write may pass over: in a lock or dead, each weighs the same. */
export const passableWaiting = (record: QueueRecord): number =>
  isDeadLettered(record)
    ? Math.min(EXPIRED_PER_WRITE.dead, mayDie(record))
    : EXPIRED_PER_WRITE.discarded

/** How many a write may pass over and lock together: dead and locked items weigh the same. */
export const togetherIn = (record: QueueRecord): number =>
  isDeadLettered(record) ? roomIn(record) : Number.POSITIVE_INFINITY

/** How much heavier that makes the record, at most: dead items stay in it until they have moved. */
export const weightOf = (record: QueueRecord, over: readonly Stretch[]): number =>
  isDeadLettered(record) ? itemsIn(over) : 0

/** How many more items may become dead. */
const mayDie = (record: QueueRecord): number => Math.max(0, EXPIRED_DEAD_MAX - deadIn(record))

// What a pop has read is sorted into items that are over and items that it hands out.

/** The items that a pop found, in the order in which it would take them. */
export type FoundByPop = {
  readonly over: readonly Stretch[]
  readonly kept: readonly Stretch[]
  /** The entries of the items that it keeps. */
  readonly entries: readonly string[]
  /** How many it has looked at. */
  readonly looked: number
  /** There is no room for the next one. */
  readonly isFull: boolean
}

export const nothingFound: FoundByPop = {
  over: [],
  kept: [],
  entries: [],
  looked: 0,
  isFull: false,
}

export type Bounds = {
  readonly wanted: number
  readonly passable: number
  /** The bound for both together. */
  readonly together?: number | undefined
  /** The bytes left in the answer; at least one item always fits. */
  readonly bytesMax: number
  readonly bytesOf: (entry: string) => number
}

/** Sorts the next items that were read; stops at the first one for which the answer or the write has no room. */
export function sortOut(
  record: QueueRecord,
  found: FoundByPop,
  read: { readonly stretches: readonly Stretch[]; readonly entries: readonly string[] },
  nowMs: number,
  { wanted, passable, together = Number.POSITIVE_INFINITY, bytesMax, bytesOf }: Bounds,
): FoundByPop {
  const [over, kept, entries] = [[...found.over], [...found.kept], [...found.entries]]
  let bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0)
  let [passed, looked] = [itemsIn(over), 0]
  const sorted = (isFull: boolean): FoundByPop => {
    return { over, kept, entries, looked: found.looked + looked, isFull }
  }
  for (const { priority, from, to } of read.stretches) {
    for (let sequence = from; sequence < to && looked < read.entries.length; sequence += 1) {
      const entry = read.entries[looked] as string
      if (passed + entries.length === together) return sorted(true)
      if (hasExpired(entry, record, nowMs)) {
        if (passed === passable || touchesTooMany(over, priority)) return sorted(true)
        put(over, priority, sequence)
        passed += 1
      } else {
        bytes += bytesOf(entry)
        if (entries.length === wanted) return sorted(true)
        if (entries.length > 0 && bytes > bytesMax) return sorted(true)
        put(kept, priority, sequence)
        entries.push(entry)
      }
      looked += 1
    }
  }
  return sorted(entries.length === wanted)
}

/** Sorts everything that was read: no bound applies. */
export const sortAll = (
  record: QueueRecord,
  stretches: readonly Stretch[],
  entries: readonly string[],
  nowMs: number,
): FoundByPop =>
  sortOut(record, nothingFound, { stretches, entries }, nowMs, {
    wanted: Number.POSITIVE_INFINITY,
    passable: Number.POSITIVE_INFINITY,
    bytesMax: Number.POSITIVE_INFINITY,
    bytesOf: () => 0,
  })

function touchesTooMany(over: readonly Stretch[], priority: number): boolean {
  if (over.at(-1)?.priority === priority) return false
  return new Set(over.map((stretch) => stretch.priority)).size === EXPIRED_LANES_PER_WRITE
}

/** Joins neighbouring numbers into one stretch. */
function put(stretches: Stretch[], priority: number, sequence: number): void {
  const last = stretches.at(-1)
  if (last?.priority === priority && last.to === sequence) {
    stretches[stretches.length - 1] = { ...last, to: sequence + 1 }
  } else {
    stretches.push({ priority, from: sequence, to: sequence + 1 })
  }
}
