import type { Epoch } from './epoch.ts'

/**
 * Converts between positions of the cursor and times. Under `window`, a position is a slot, and slot ÷ max is its
 * window. Under `smooth`, it is a time in `max`-ths of a millisecond since the epoch's start, and a request is
 * `windowMs` of these units long. Both are integers, so that a counter can hold them.
 */

const isWindow = ({ rules }: Epoch): boolean => rules.algorithm === 'window'

/** How far a request of this cost moves the cursor. */
export const widthOf = (epoch: Epoch, cost: number): number =>
  isWindow(epoch) ? cost : cost * epoch.rules.windowMs

/** The number of the epoch's current window; negative before the first one. */
export const windowAt = ({ rules, startMs }: Epoch, nowMs: number): number =>
  Math.floor((nowMs - startMs) / rules.windowMs)

export const windowStartMs = ({ rules, startMs }: Epoch, nowMs: number): number =>
  startMs + Math.floor((nowMs - startMs) / rules.windowMs) * rules.windowMs

/** The first position that is not past. */
export function floorAt(epoch: Epoch, nowMs: number): number {
  const { rules, startMs } = epoch
  if (nowMs <= startMs) return 0
  return isWindow(epoch)
    ? windowAt(epoch, nowMs) * rules.maxRequests
    : (nowMs - startMs) * rules.maxRequests
}

/** The last position at which a request of this cost may go now; below 0 before the first window. */
export function lastOpenAt(epoch: Epoch, nowMs: number, cost: number): number {
  if (isWindow(epoch)) return (windowAt(epoch, nowMs) + 1) * epoch.rules.maxRequests - cost
  return nowMs < epoch.startMs ? -1 : openUnits(epoch, nowMs, cost)
}

/** The last position at which a request may wait: `inLine` slots behind those open now. */
export function lastInLineAt(epoch: Epoch, nowMs: number, cost: number, inLine: number): number {
  // Before the epoch's first window, promises of the previous epoch stand in this line too.
  return isWindow(epoch)
    ? lastOpenAt(epoch, nowMs, cost) + inLine
    : openUnits(epoch, nowMs, cost) + widthOf(epoch, inLine)
}

/** When a request at this position may go. */
export function turnMs(epoch: Epoch, position: number, cost: number): number {
  const { rules, startMs } = epoch
  return isWindow(epoch)
    ? startMs + Math.floor(position / rules.maxRequests) * rules.windowMs
    : startMs + Math.max(0, Math.ceil((position - spare(epoch, cost)) / rules.maxRequests))
}

/** When this position opens, for callers in a line of this length, or (0) for those that do not wait. */
export function opensMs(epoch: Epoch, position: number, cost: number, inLine: number): number {
  const { rules, startMs } = epoch
  if (isWindow(epoch)) {
    const window = Math.ceil((position + cost - inLine) / rules.maxRequests) - 1
    return startMs + window * rules.windowMs
  }
  const unit = position - spare(epoch, cost) - widthOf(epoch, inLine)
  const opens = startMs + Math.ceil(unit / rules.maxRequests)
  return inLine === 0 ? Math.max(startMs, opens) : opens
}

/** When the request's window is over; under `smooth`, one window's length after its turn. */
export const overMs = (epoch: Epoch, position: number, cost: number): number =>
  turnMs(epoch, position, cost) + epoch.rules.windowMs

/** Where a request of this cost can go at or after this position: whole within one window. */
export function fittingPosition(epoch: Epoch, position: number, cost: number): number {
  const { maxRequests } = epoch.rules
  if (!isWindow(epoch)) return position
  const used = position % maxRequests
  return used + cost <= maxRequests ? position : position - used + maxRequests
}

/** Requests of cost 1 that could go now, with the cursor here. */
export function remainingAt(epoch: Epoch, cursor: number, nowMs: number): number {
  const from = Math.max(cursor, floorAt(epoch, nowMs))
  const room = Math.floor((lastOpenAt(epoch, nowMs, 1) - from) / widthOf(epoch, 1)) + 1
  return Math.min(epoch.rules.maxRequests, Math.max(0, room))
}

/** How many slots lie between here and those open now; 1 is the first in line. */
export function placeInLine(epoch: Epoch, position: number, cost: number, nowMs: number): number {
  const open = isWindow(epoch) ? lastOpenAt(epoch, nowMs, 1) : openUnits(epoch, nowMs, cost)
  return Math.max(0, Math.ceil((position - open) / widthOf(epoch, 1)))
}

/** For `smooth`: the part of the burst that the request's own cost does not need. */
function spare({ rules }: Epoch, cost: number): number {
  return (rules.burst - Math.min(cost, rules.burst)) * rules.windowMs
}

const openUnits = (epoch: Epoch, nowMs: number, cost: number): number =>
  (nowMs - epoch.startMs) * epoch.rules.maxRequests + spare(epoch, cost)

/** The first millisecond after one at which it is not so, up to one at which it is, and stays so in between. */
export function firstMs(afterMs: number, byMs: number, isSo: (atMs: number) => boolean): number {
  let [notYetMs, firstMs] = [afterMs, byMs]
  while (firstMs - notYetMs > 1) {
    const betweenMs = Math.floor((notYetMs + firstMs) / 2)
    if (isSo(betweenMs)) firstMs = betweenMs
    else notYetMs = betweenMs
  }
  return firstMs
}
