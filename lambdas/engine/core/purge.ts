import { LANES_PER_WRITE, LOCK_LANES_PER_WRITE } from './limits.ts'
import { endLock, forOneWrite } from './locks.ts'
import { countOf, normalised, subtract } from './ranges.ts'
import {
  endOf,
  isDone,
  type QueueRecord,
  type Stretch,
  stretchesOf,
  unsettledIn,
  unsettledPart,
  withLane,
} from './record.ts'
import { settle } from './settling.ts'

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
    draft =
      rest.length > 0
        ? { ...draft, locks: new Map(draft.locks).set(lockId, { ...lock, stretches: rest }) }
        : endLock(draft, lockId, 'purged', nowMs)
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
