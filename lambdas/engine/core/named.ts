import { QueueError } from '../../foundation/errors.ts'
import { type ItemPlace, parseItemId } from './keys.ts'
import { BY_ID_IN_FLIGHT_MAX, LANES_PER_CALL_BY_ID } from './limits.ts'
import { IDS_MAX } from './partial.ts'
import { includes, normalised, type Range } from './ranges.ts'
import {
  inFlightOf,
  isDone,
  isExpired,
  isLive,
  type Lane,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
  unsettledIn,
} from './record.ts'
import { parseScheduledId } from './scheduled.ts'
import { settle } from './settling.ts'

// Items that a call names by their ids. An id says where its item is, so nothing is looked for.

export type NamedItem = ItemPlace & { readonly id: string }

/** The ids of a call, each once. One that none of ours can be is refused by its place in the list. */
export function namedItems(ids: readonly string[]): NamedItem[] {
  checkCount(ids)
  const named = new Map<string, NamedItem>()
  for (const [index, id] of ids.entries()) {
    const place = parseItemId(id)
    if (place === undefined) throw notAnId(index)
    named.set(id, { id, ...place })
  }
  return [...named.values()]
}

/** Those of items in their lanes, and those of scheduled items. */
export function idsByForm(ids: readonly string[]) {
  checkCount(ids)
  const [waiting, scheduled]: [string[], string[]] = [[], []]
  for (const [index, id] of ids.entries()) {
    if (parseItemId(id) !== undefined) waiting.push(id)
    else if (parseScheduledId(id) !== undefined) scheduled.push(id)
    else throw notAnId(index)
  }
  return { waiting, scheduled }
}

function checkCount({ length }: readonly string[]): void {
  if (length > 0 && length <= IDS_MAX) return
  throw new QueueError('INVALID_PARAMETER', `ids must be 1 to ${IDS_MAX} item ids`, {
    field: 'ids',
  })
}

function notAnId(index: number): QueueError {
  const field = `ids[${index}]`
  return new QueueError('INVALID_PARAMETER', `${field} must be an item's id`, { field })
}

/**
 * `waiting`: free, or in a lock whose time is over. `gone`: settled, on its way to the dead letters, never
 * there, or of a lane that was made anew since.
 */
export type Standing = 'waiting' | 'locked' | 'gone'

/** How each of the items stands, those that wait in the order of pops. */
export function standingOfEach(
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): { readonly waiting: NamedItem[]; readonly others: Map<string, 'locked' | 'gone'> } {
  const waiting: NamedItem[] = []
  const others = new Map<string, 'locked' | 'gone'>()
  const isThere = unsettledItems(record)
  for (const item of named) {
    const lock = lockWith(record, item)?.[1]
    if (!isThere(item) || (lock !== undefined && isDone(lock))) others.set(item.id, 'gone')
    else if (lock !== undefined && isLive(lock, nowMs)) others.set(item.id, 'locked')
    else waiting.push(item)
  }
  return { waiting: waiting.sort(inPopOrder), others }
}

/** Those that are in the queue, free or locked, in the order of pops. */
export function namedIn(record: QueueRecord, named: readonly NamedItem[]): NamedItem[] {
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

/** Locks to end before these items are free: their time is over, and nobody has written so yet. */
export const overWith =
  (named: readonly NamedItem[], nowMs: number) =>
  (lock: Lock): boolean =>
    isExpired(lock, nowMs) && named.some((item) => holds(lock, item))

/** Of items in the order of pops, as many as one write's expression has room for. */
export function forOneWriteOf(items: readonly NamedItem[], lanesMax = LANES_PER_CALL_BY_ID) {
  const lanes = new Set<number>()
  const fit = items.findIndex(({ priority }) => lanes.add(priority).size > lanesMax)
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
 * Settles free items, wherever in their lanes they are. Those ahead of the frontier become holes there, and a
 * claim takes numbers in a row from the frontier on: so all claims that have not seen these must fail, by the
 * count of returns, and the write fails if a claim has come past the first of them (`fenced-update.ts`).
 */
export function takeOut(record: QueueRecord, stretches: readonly Stretch[]): QueueRecord {
  const isAhead = ({ priority, to }: Stretch): boolean =>
    to > (record.lanes.get(priority) as Lane).frontier
  const settled = settle(record, stretches)
  return stretches.some(isAhead) ? { ...settled, returns: settled.returns + 1 } : settled
}

/**
 * How heavy the record may be before a write that makes it heavier; nothing where that is too much already. A
 * hole weighs as much as a locked item, and one ahead of the head stays until pops have come to it. So half of
 * what a record may hold is left to locks: a queue from which nothing could be popped would keep its holes.
 */
export function inFlightAllowed(
  record: QueueRecord,
  draft: QueueRecord,
): { readonly inFlightMax?: number } | undefined {
  const heavier = inFlightOf(draft) - inFlightOf(record)
  if (heavier <= 0) return {}
  const inFlightMax = BY_ID_IN_FLIGHT_MAX - heavier
  return record.inFlight <= inFlightMax ? { inFlightMax } : undefined
}

export const tooManyGaps = ({ queue }: QueueRecord): QueueError =>
  new QueueError(
    'TOO_MANY_LOCKS',
    `Cannot take more items from the middle of queue "${queue}" because it holds ${BY_ID_IN_FLIGHT_MAX} locked ` +
      'items, dead items, and gaps where items were taken out before; it has room again as it is popped',
  )

/** Numbers of a lane that these items name. */
export const numbersNamed = (lane: Lane, items: readonly NamedItem[]) =>
  stretchesIn(stretchesOfNamed(items.filter(({ epoch }) => epoch === lane.epoch)), lane.priority)
