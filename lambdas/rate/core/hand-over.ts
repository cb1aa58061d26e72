import { CURSOR_MAX } from './bounds.ts'
import type { Epoch, Ruling } from './epoch.ts'
import { floorAt, turnMs, widthOf, windowAt, windowStartMs } from './ruler.ts'
import { sameRules } from './rules.ts'

/** How far a row's slots have been issued, and by which ruler. */
export type Issued = {
  readonly epoch: Epoch
  readonly cursor: number
  /**
   * Requests of earlier epochs in this epoch's first window that the cursor cannot express, because they are more
   * than its rules allow. They count again if the rules change back within that window.
   */
  readonly overhang: number
}

/**
 * The row under other rules. Promises stay as callers got them, so the new ruler begins at the last promise: no new
 * turn comes before an old one. Requests that have used that window still count.
 */
export function handOver(row: Issued, ruling: Ruling, nowMs: number): Issued {
  const { rules, revision, configured } = ruling
  if (sameRules(row.epoch.rules, rules) && row.cursor < CURSOR_MAX) {
    return { ...row, epoch: { ...row.epoch, revision, configured } }
  }
  const { fromMs, used } =
    row.epoch.rules.algorithm === 'window' ? lastWindow(row, nowMs) : lastTurn(row, nowMs)
  // The window has begun: its slots may have been used just now, so they count in the current window.
  const passed = Math.max(0, Math.floor((nowMs - fromMs) / rules.windowMs))
  const counted = Math.min(used, rules.maxRequests)
  const epoch: Epoch = {
    rules,
    revision,
    configured,
    startMs: fromMs + passed * rules.windowMs,
    generation: row.epoch.generation + 1,
  }
  return { epoch, cursor: widthOf(epoch, counted), overhang: used - counted }
}

/** From then on, nothing that the row has issued counts under other rules. */
export function countsUntilMs({ epoch, cursor }: Issued): number {
  const { algorithm, maxRequests, windowMs } = epoch.rules
  const ahead = Math.ceil(cursor / maxRequests)
  return epoch.startMs + (algorithm === 'window' ? ahead * windowMs : ahead)
}

type Left = { readonly fromMs: number; readonly used: number }

/** The window of the last slot issued, or the current one, and how much of it is used. */
function lastWindow({ epoch, cursor, overhang }: Issued, nowMs: number): Left {
  const { rules, startMs } = epoch
  if (cursor <= floorAt(epoch, nowMs)) {
    return { fromMs: windowAt(epoch, nowMs) < 0 ? startMs : windowStartMs(epoch, nowMs), used: 0 }
  }
  const window = Math.floor((cursor - 1) / rules.maxRequests)
  return {
    fromMs: startMs + window * rules.windowMs,
    used: cursor - window * rules.maxRequests + (window === 0 ? overhang : 0),
  }
}

/** The latest turn that the last slot issued can have, or now, and what counts as used from there. */
function lastTurn({ epoch, cursor, overhang }: Issued, nowMs: number): Left {
  const { rules, startMs } = epoch
  // A single request for the whole burst moves the cursor farthest beyond its turn.
  const lastPosition = cursor - widthOf(epoch, rules.burst)
  const fromMs = Math.max(nowMs, turnMs(epoch, lastPosition, rules.burst))
  const ahead = cursor - (fromMs - startMs) * rules.maxRequests
  const used = Math.max(0, Math.ceil(ahead / rules.windowMs))
  return { fromMs, used: used + (fromMs === startMs ? overhang : 0) }
}
