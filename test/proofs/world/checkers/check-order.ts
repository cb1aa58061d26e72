import {
  countOf,
  none,
  type Ranges,
  subtract,
  take,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import { isDone, stretchesIn } from '../../../../lambdas/engine/core/record.ts'
import { showRanges } from './lane-view.ts'
import type { Write } from './snapshot.ts'

/** What is wrong, unless it is first in, first out within a lane, with no lane passed over, by the record right before. */
export function disorderIn(
  { model, queue, before, after }: Write,
  takes: ReadonlyMap<number, Ranges>,
  passed: ReadonlyMap<number, Ranges>,
): string | undefined {
  const worst = Math.max(...takes.keys())
  for (const [priority] of before.record.lanes) {
    if (priority > worst) continue
    const view = before.view(priority)
    if (view === undefined) continue
    // Visible to this write: free, or in a lock that it ended without settling it.
    let visible = view.free
    for (const [lockId, numbers] of view.locked) {
      const kept = after.record.locks.get(lockId)
      if (kept === undefined) visible = union(visible, numbers)
      else if (!isDone(kept)) {
        const left = subtract(numbers, stretchesIn(kept.stretches, priority))
        if (left.length > 0) visible = union(visible, left)
      }
    }
    const laneAfter = after.view(priority)
    visible = subtract(visible, laneAfter?.dead ?? none)
    visible = subtract(visible, passed.get(priority) ?? none)
    const acknowledged = model.operation?.command
    if (acknowledged?.verb === 'pop' && acknowledged.request.acknowledge !== undefined) {
      visible = subtract(visible, view.locked.get(acknowledged.request.acknowledge) ?? none)
    }
    const taken = takes.get(priority) ?? none
    const first = priority === worst ? take(visible, countOf(taken)) : visible
    if (!sameRanges(taken, first)) {
      return `${queue} lane ${priority}: took ${showRanges(taken)} where ${showRanges(visible)} were visible; worst priority taken ${worst}`
    }
  }
  return undefined
}

function sameRanges(a: Ranges, b: Ranges): boolean {
  if (a.length !== b.length) return false
  return a.every((range, i) => range.from === b[i]?.from && range.to === b[i]?.to)
}
