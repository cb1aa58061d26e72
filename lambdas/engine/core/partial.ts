import { QueueError } from '../../foundation/errors.ts'
import { parseItemId } from './keys.ts'
import { endLock } from './locks.ts'
import {
  countOf,
  includes,
  intersect,
  normalised,
  type Range,
  type Ranges,
  subtract,
} from './ranges.ts'
import {
  type Ending,
  itemsIn,
  type Lock,
  type QueueRecord,
  type Stretch,
  stretchesIn,
  stretchesOf,
  unsettledIn,
} from './record.ts'
import { type Again, comeBackLater, inRetry } from './retry.ts'
import { bury, giveBack, settle } from './settling.ts'

export type PartialEnding = Extract<Ending, 'acknowledged' | 'released' | 'dead-lettered'>

/** What becomes of a lock, or of some of its items. */
export type Settlement = {
  readonly ending: PartialEnding
  /** Why they are dead-lettered. */
  readonly reason?: string
  /** For a release with a delay: when the items come back. */
  readonly again?: Again | undefined
}

/**
 * Ends a lock for some of its items; the rest stay locked. Ids say where their items are, so this
 * reads nothing. If a listed item is settled already, this counts as acknowledging it again; if it waits
 * for its retry, as releasing it with a delay again: the first answer may have been lost.
 */
export function endPart(
  record: QueueRecord,
  lockId: string,
  lock: Lock,
  ids: readonly string[],
  { ending, reason = '', again }: Settlement,
  nowMs: number,
): { draft: QueueRecord; items: number } {
  const wanted = rangesByPriority(record, ids)
  const part: Stretch[] = []
  const rest: Stretch[] = []
  let repeated = 0
  for (const [priority, ranges] of wanted) {
    const held = stretchesIn(lock.stretches, priority)
    part.push(...stretchesOf(priority, intersect(ranges, held)))
    const others = subtract(ranges, held)
    const putOff = again === undefined ? [] : intersect(others, inRetry(record, priority))
    repeated += countOf(putOff)
    repeated += settledAlready(record, priority, subtract(others, putOff), ending)
  }
  for (const priority of new Set(lock.stretches.map((stretch) => stretch.priority))) {
    const held = stretchesIn(lock.stretches, priority)
    rest.push(...stretchesOf(priority, subtract(held, wanted.get(priority) ?? [])))
  }
  const items = itemsIn(part) + repeated
  if (itemsIn(part) === 0) return { draft: record, items }
  const locks = new Map(record.locks).set(lockId, {
    ...lock,
    stretches: rest.length > 0 ? rest : part,
  })
  const shrunk = { ...record, locks }
  if (rest.length === 0) {
    return { draft: endLock(shrunk, lockId, ending, nowMs, reason, again), items }
  }
  switch (ending) {
    case 'acknowledged':
      return { draft: settle(shrunk, part), items }
    case 'released': {
      const draft =
        again === undefined ? giveBack(shrunk, part) : comeBackLater(shrunk, part, again)
      return { draft, items }
    }
    case 'dead-lettered':
      return { draft: bury(shrunk, part, reason), items }
    default:
      return ending satisfies never
  }
}

function rangesByPriority(record: QueueRecord, ids: readonly string[]): Map<number, Ranges> {
  const byPriority = new Map<number, Range[]>()
  for (const id of ids) {
    const place = parseItemId(id)
    const lane = place && record.lanes.get(place.priority)
    if (place === undefined || (lane !== undefined && lane.epoch !== place.epoch))
      throw notOfLock(id)
    const ranges = byPriority.get(place.priority) ?? []
    ranges.push({ from: place.sequence, to: place.sequence + 1 })
    byPriority.set(place.priority, ranges)
  }
  return new Map([...byPriority].map(([priority, ranges]) => [priority, normalised(ranges)]))
}

function settledAlready(
  record: QueueRecord,
  priority: number,
  others: Ranges,
  ending: PartialEnding,
): number {
  const lane = record.lanes.get(priority)
  const open = lane === undefined ? [] : unsettledIn(lane)
  const end = lane === undefined ? Number.POSITIVE_INFINITY : lane.frontier
  for (const { from, to } of others) {
    if (ending !== 'acknowledged' || to > end || includes(open, from)) throw notOfLock()
    if (intersect([{ from, to }], open).length > 0) throw notOfLock()
  }
  return countOf(others)
}

const notOfLock = (id?: string): QueueError =>
  new QueueError(
    'INVALID_PARAMETER',
    id === undefined
      ? 'ids must name items of this lock; one or more are not in it'
      : `ids must name items of this lock; "${id}" is not in it`,
    { field: 'ids' },
  )
