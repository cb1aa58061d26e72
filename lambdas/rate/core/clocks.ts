import { QueueError } from '../../foundation/errors.ts'
import { CLOCK_AHEAD_MAX_MS, CLOCK_BEHIND_MAX_MS, CLOCKS_APART_MAX_MS } from './bounds.ts'

/**
 * A clock that is far ahead would open windows before their time and, because the item's time never
 * goes back, shut out all others until then. So we refuse such a clock before it writes.
 */
export function checkClock(clockMs: number, receivedMs: number | undefined): void {
  if (receivedMs === undefined) return
  const aheadMs = clockMs - receivedMs
  if (aheadMs <= CLOCK_AHEAD_MAX_MS && -aheadMs <= CLOCK_BEHIND_MAX_MS) return
  throw clockOff(`this process's clock is ${Math.abs(aheadMs)} ms off the gateway's`)
}

/** Without the gateway's time, the item's own must do: it shows a clock that is far behind. */
export function checkItemTime(clockMs: number, itemMs: number): void {
  const behindMs = itemMs - clockMs
  if (behindMs <= CLOCKS_APART_MAX_MS) return
  throw clockOff(`the limit's latest window begins ${behindMs} ms after this process's time`)
}

const clockOff = (why: string): QueueError =>
  new QueueError('STORE_UNAVAILABLE', `Cannot decide on the rate limit because ${why}; try again`)
