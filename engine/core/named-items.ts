// Items that a call names by their ids, and what a purge takes out. An id says where its item is, so we need not search;
// it also names the lane's epoch, so an id from a lane that was made anew since is gone. Items are taken out wherever in
// their lanes they are, under the fence, while claims advance frontiers beside it: `takeOut` says how the two are kept
// apart.

import { IDS_MAX } from '../../shared/bounds.ts'
import { invalid, QueueError } from '../../shared/errors.ts'
import { type ItemPlace, parseItemId } from './keys.ts'
import { parseScheduledId } from './later.ts'
import { IN_FLIGHT_MAX, LOCK_LANES_PER_WRITE, LOCKS_PER_WRITE } from './limits.ts'
import { endLock, forOneWrite } from './locks.ts'
import { countOf, includes, normalised, type Range, subtract } from './ranges.ts'
import {
  endOf,
  inFlightOf,
  isDone,
  isExpired,
  isLive,
  itemsIn,
  type Lane,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
  unsettledIn,
  unsettledPart,
  withLane,
} from './record.ts'
import { isRetry, settle } from './settling.ts'

/** From this many gaps on, calls with ids may make no more: gaps stay, and the other half is for locks. */
export const GAPS_MAX = IN_FLIGHT_MAX / 2

/** Lanes that one fenced write changes (24 bytes of expression each, and twice that at worst). */
const LANES_PER_WRITE = 80
/** Lanes that one write takes named items from: four attributes and a condition of each, some 80 bytes. */
const LANES_PER_CALL_BY_ID = 40

export type NamedItem = ItemPlace & { readonly id: string }

/** The ids of a call, each once. If one cannot be an id of ours, the error names its place in the list. */
export function namedItems(ids: readonly string[]): NamedItem[] {
  checkCount(ids)
  const named = new Map<string, NamedItem>()
  for (const [index, id] of ids.entries()) {
    const place = parseItemId(id)
    if (place === undefined) throw notAnId(index, id)
    named.set(id, { id, ...place })
  }
  return [...named.values()]
}

/** Splits ids into those of items in lanes and those of scheduled items. */
export function idsByForm(ids: readonly string[]) {
  checkCount(ids)
  const [waiting, scheduled]: [string[], string[]] = [[], []]
  for (const [index, id] of ids.entries()) {
    if (parseItemId(id) !== undefined) waiting.push(id)
    else if (parseScheduledId(id) !== undefined) scheduled.push(id)
    else throw notAnId(index, id)
  }
  return { waiting, scheduled }
}

function checkCount({ length }: readonly string[]): void {
  if (length > 0 && length <= IDS_MAX) return
  throw invalid('ids', `ids must be 1 to ${IDS_MAX} item ids`)
}

function notAnId(index: number, id: string): QueueError {
  const field = `ids[${index}]`
  const message =
    parseScheduledId(id) === undefined
      ? `${field} must be an item's id`
      : `${field} is the id of a scheduled item, which only cancel and move take`
  return invalid(field, message)
}

/**
 * Where each item stands; those that wait come in the order of pops. `waiting`: free, in a retry lock, or in an expired
 * lock. `gone`: settled, on its way to the dead letters, never in the queue, or from a lane that was made anew since.
 */
export function standingOfEach(
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): { readonly waiting: NamedItem[]; readonly others: Map<string, 'locked' | 'gone'> } {
  const waiting: NamedItem[] = []
  const others = new Map<string, 'locked' | 'gone'>()
  const isThere = unsettledItems(record)
  for (const item of named) {
    const found = lockWith(record, item)
    const lock = found?.[1]
    if (!isThere(item) || (lock !== undefined && isDone(lock))) others.set(item.id, 'gone')
    else if (isHolding(found, nowMs)) others.set(item.id, 'locked')
    else waiting.push(item)
  }
  return { waiting: waiting.sort(inPopOrder), others }
}

/** A consumer holds it: nobody holds a retry lock. */
const isHolding = (found: [string, Lock] | undefined, nowMs: number): boolean =>
  found !== undefined && isLive(found[1], nowMs) && !isRetry(found[1])

/** Those that are in the queue, free or locked, in the order of pops. */
function namedIn(record: QueueRecord, named: readonly NamedItem[]): NamedItem[] {
  const isThere = unsettledItems(record)
  const isSettled = (item: NamedItem): boolean => {
    const lock = lockWith(record, item)?.[1]
    return lock !== undefined && isDone(lock)
  }
  return named.filter((item) => isThere(item) && !isSettled(item)).sort(inPopOrder)
}

const inPopOrder = (a: NamedItem, b: NamedItem): number =>
  a.priority - b.priority || a.sequence - b.sequence

/** Whether an item is in the queue: not settled, and not dead. */
function unsettledItems(record: QueueRecord): (item: ItemPlace) => boolean {
  const lanes = new Map<number, (sequence: number) => boolean>()
  return ({ epoch, priority, sequence }) => {
    const lane = record.lanes.get(priority)
    if (lane?.epoch !== epoch) return false
    let isThere = lanes.get(priority)
    if (isThere === undefined) {
      const [unsettled, dead] = [unsettledIn(lane), normalised(lane.dead)]
      isThere = (n) => includes(unsettled, n) && !includes(dead, n)
      lanes.set(priority, isThere)
    }
    return isThere(sequence)
  }
}

const holds = ({ stretches }: Lock, { priority, sequence }: ItemPlace): boolean =>
  stretches.some((s) => s.priority === priority && s.from <= sequence && sequence < s.to)

export const lockWith = ({ locks }: QueueRecord, item: ItemPlace): [string, Lock] | undefined =>
  [...locks].find(([, lock]) => holds(lock, item))

/** Locks that must end before these items are free: they have expired, but no write has ended them yet. */
export const overWith =
  (named: readonly NamedItem[], nowMs: number) =>
  (lock: Lock): boolean =>
    isExpired(lock, nowMs) && named.some((item) => holds(lock, item))

/** The first items, in the order of pops, for whose lanes and locks one write's expression has room. */
export function forOneWriteOf(
  record: QueueRecord,
  items: readonly NamedItem[],
): readonly NamedItem[] {
  const lanes = new Set<number>()
  const locks = new Set<string>()
  const fit = items.findIndex((item) => {
    const lockId = lockWith(record, item)?.[0]
    if (lockId !== undefined) locks.add(lockId)
    return lanes.add(item.priority).size > LANES_PER_CALL_BY_ID || locks.size > LOCKS_PER_WRITE
  })
  return fit === -1 ? items : items.slice(0, fit)
}

export function stretchesOfNamed(items: readonly ItemPlace[]): Stretch[] {
  const byPriority = new Map<number, Range[]>()
  for (const { priority, sequence } of items) {
    const ranges = byPriority.get(priority) ?? []
    ranges.push({ from: sequence, to: sequence + 1 })
    byPriority.set(priority, ranges)
  }
  return [...byPriority].flatMap(([priority, ranges]) => stretchesOf(priority, normalised(ranges)))
}

/**
 * Settles items, wherever in their lanes they are, and takes them out of the locks that hold them: mostly retry
 * locks; a purge also takes them out of consumers' locks. Items ahead of the frontier become holes there, but a claim
 * takes neighbouring numbers from the frontier on. So the count of returns makes every claim fail that has not seen
 * the holes, and this write fails if a claim has come past the first of them (`fenced-update.ts`).
 */
export function takeOut(
  record: QueueRecord,
  stretches: readonly Stretch[],
  nowMs: number,
): QueueRecord {
  const isAhead = ({ priority, to }: Stretch): boolean =>
    to > (record.lanes.get(priority) as Lane).frontier
  const settled = settle(outOfLocks(record, stretches, nowMs), stretches)
  if (!stretches.some(isAhead)) return settled
  return { ...settled, returns: settled.returns + 1 }
}

/** Items that leave the queue, or die, leave the locks that hold them. */
export function outOfLocks(
  record: QueueRecord,
  stretches: readonly Stretch[],
  nowMs: number,
): QueueRecord {
  let draft = record
  for (const [lockId, lock] of record.locks) {
    const rest = lock.stretches.flatMap(({ priority, ...range }) =>
      stretchesOf(priority, subtract([range], stretchesIn(stretches, priority))),
    )
    if (itemsIn(rest) === itemsIn(lock.stretches)) continue
    draft = keptFor(draft, lockId, rest, nowMs)
  }
  return draft
}

/** The lock holds only the rest; without any, it ends. */
function keptFor(
  record: QueueRecord,
  lockId: string,
  rest: readonly Stretch[],
  nowMs: number,
): QueueRecord {
  const lock = record.locks.get(lockId)
  if (lock === undefined || rest.length === 0) return endLock(record, lockId, 'purged', nowMs)
  return { ...record, locks: new Map(record.locks).set(lockId, { ...lock, stretches: rest }) }
}

/**
 * How heavy the record may be before a write that makes it heavier; undefined if it is too heavy already. A hole
 * weighs as much as a locked item, and a hole ahead of the head stays until pops have come to it. So holes may be
 * only half of what a record holds: with more, nobody could lock anything, and the holes would never go. Only fenced
 * writes make holes, so their number needs no guard.
 */
export function inFlightAllowed(
  record: QueueRecord,
  draft: QueueRecord,
): { readonly inFlightMax?: number } | undefined {
  const gaps = gapsIn(draft)
  if (gaps > GAPS_MAX && gaps > gapsIn(record)) return undefined
  const heavier = inFlightOf(draft) - inFlightOf(record)
  if (heavier <= 0) return {}
  const inFlightMax = IN_FLIGHT_MAX - heavier
  return record.inFlight <= inFlightMax ? { inFlightMax } : undefined
}

function gapsIn({ lanes }: QueueRecord): number {
  let gaps = 0
  for (const { holes } of lanes.values()) gaps += holes.length
  return gaps
}

/** Of gaps, only pops that come to them make fewer, however often this call is repeated; locks end soon. */
export const tooManyGaps = (record: QueueRecord, draft: QueueRecord): QueueError =>
  new QueueError(
    'TOO_MANY_LOCKS',
    `Cannot take more items from the middle of queue "${record.queue}" because it has ${gapsIn(record)} gaps where ` +
      `items were taken out before, of ${GAPS_MAX} at the most, and ${record.inFlight} of these, locked items, dead items ` +
      `and items that wait for a retry together, of ${IN_FLIGHT_MAX}; pops that come to a gap close it`,
    gapsIn(draft) > GAPS_MAX ? { isFinal: true } : {},
  )

// A purge takes items out in steps, a write for each.

/** One step of a purge of these items, even locked ones: as many as one write's expression has room for. */
export function purgeNamedStep(
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): { draft: QueueRecord; items: readonly NamedItem[] } {
  const items = forOneWriteOf(record, namedIn(record, named))
  return { draft: takeOut(record, stretchesOfNamed(items), nowMs), items }
}

/**
 * One step of a purge: "pop everything seen". Heads and frontiers go to the end; items appended
 * meanwhile lie behind it and stay. A queue of up to 80 lanes and 40 locks takes one step, however
 * deep it is. Dead items no longer belong to the queue, so they stay.
 */
export function purgeStep(
  record: QueueRecord,
  priority: number | undefined,
  nowMs: number,
): { draft: QueueRecord; items: number; finished: boolean } {
  const inScope = (stretch: Stretch): boolean =>
    priority === undefined || stretch.priority === priority
  const concerned = [...record.locks].filter(([, lock]) => lock.stretches.some(inScope))
  let draft = record
  let items = 0
  const chosen = new Set(forOneWrite(record, ({ stretches }) => stretches.some(inScope)))
  const touched = new Set<number>()
  for (const [lockId, lock] of concerned) {
    if (!chosen.has(lockId)) continue
    for (const stretch of lock.stretches) touched.add(stretch.priority)
    if (isDone(lock)) {
      draft = endLock(draft, lockId, 'acknowledged', nowMs)
      continue
    }
    const purged = lock.stretches.filter(inScope)
    const rest = lock.stretches.filter((stretch) => !inScope(stretch))
    for (const stretch of purged)
      items += countOf(unsettledPart(draft, stretch.priority, [stretch]))
    draft = keptFor(draft, lockId, rest, nowMs)
    draft = settle(draft, purged)
  }
  if (concerned.length > chosen.size) return { draft, items, finished: false }

  // Locks over many lanes alone have filled the expression.
  if (touched.size > LOCK_LANES_PER_WRITE) return { draft, items, finished: false }
  let lanes = touched.size
  for (const [p, lane] of draft.lanes) {
    if (priority !== undefined && p !== priority) continue
    const left = subtract(unsettledIn(lane), normalised(lane.dead))
    if (left.length === 0) continue
    if (lanes >= LANES_PER_WRITE) return { draft, items, finished: false }
    lanes += 1
    items += countOf(left)
    draft = settle(withLane(draft, { ...lane, frontier: endOf(lane) }), stretchesOf(p, left))
  }
  return { draft, items, finished: true }
}
