import { intersect, none, type Ranges, subtract } from '../../../../lambdas/engine/core/ranges.ts'
import { isRetry } from '../../../../lambdas/engine/core/retry.ts'
import type { LaneView } from './lane-view.ts'

/** What one write did to the items of a lane, by where they were and where they went. */
export type LaneChange = {
  readonly priority: number
  readonly before: LaneView
  /** Absent: the lane was dropped. */
  readonly after: LaneView | undefined
  readonly settledFree: Ranges
  readonly settledDead: Ranges
  readonly settledLocked: ReadonlyMap<string, Ranges>
  /** Newly in a lock. */
  readonly handed: ReadonlyMap<string, Ranges>
  /** Newly in a retry lock. */
  readonly delayed: ReadonlyMap<string, Ranges>
  /** Out of a lock, and visible again, handed out anew, or waiting for a retry. */
  readonly givenBack: ReadonlyMap<string, Ranges>
  /** Out of a lock, and dead. */
  readonly buried: ReadonlyMap<string, Ranges>
  /** What must never happen: settled and back, dead and back, dead without a lock. */
  readonly unsettled: Ranges
  readonly undead: Ranges
  readonly deadUnlocked: Ranges
}

export function changeOfLane(
  priority: number,
  before: LaneView,
  after: LaneView | undefined,
): LaneChange {
  const all: Ranges = before.end > 0 ? [{ from: 0, to: before.end }] : none
  const settledAfter = after?.settled ?? all
  const deadAfter = after?.dead ?? none
  const lockedAfter = after?.locked ?? new Map<string, Ranges>()

  const settled = subtract(settledAfter, before.settled)
  const settledLocked = new Map<string, Ranges>()
  const givenBack = new Map<string, Ranges>()
  const buried = new Map<string, Ranges>()
  for (const [lockId, numbers] of before.locked) {
    add(settledLocked, lockId, intersect(numbers, settled))
    const left = subtract(subtract(numbers, settledAfter), lockedAfter.get(lockId) ?? none)
    add(buried, lockId, intersect(left, deadAfter))
    add(givenBack, lockId, subtract(left, deadAfter))
  }
  const handed = new Map<string, Ranges>()
  const delayed = new Map<string, Ranges>()
  for (const [lockId, numbers] of lockedAfter) {
    add(
      isRetry(lockId) ? delayed : handed,
      lockId,
      subtract(numbers, before.locked.get(lockId) ?? none),
    )
  }
  const deadNew = subtract(deadAfter, before.dead)
  return {
    priority,
    before,
    after,
    settledFree: subtract(subtract(settled, before.lockedByAny), before.dead),
    settledDead: intersect(settled, before.dead),
    settledLocked,
    handed,
    delayed,
    givenBack,
    buried,
    unsettled: subtract(before.settled, settledAfter),
    undead: subtract(subtract(before.dead, deadAfter), settledAfter),
    deadUnlocked: subtract(deadNew, before.lockedByAny),
  }
}

function add(map: Map<string, Ranges>, lockId: string, numbers: Ranges): void {
  if (numbers.length > 0) map.set(lockId, numbers)
}
