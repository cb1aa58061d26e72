import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { asPrompt, isNear, isPatient } from '../core/timers.ts'

/**
 * Makes sure, outside the fence, that the sweeper or Wake comes by this time: the timer must be no later. The
 * update relies on the record as seen, and its conditions check that this still holds.
 */
export function lowerCheckAt(
  update: Expression,
  { checkAtMs }: Pick<QueueRecord, 'checkAtMs'>,
  atMs: number,
  nowMs: number,
): void {
  if (checkAtMs === undefined) {
    update.condition('attribute_not_exists(checkAt)')
    setCheckAt(update, atMs, nowMs)
    return
  }
  const isEarlier = checkAtMs <= atMs
  if (isEarlier && (isPatient(atMs) || !isPatient(checkAtMs))) {
    update.condition(`checkAt<=${update.value(atMs)}`)
    return
  }
  update.condition(`checkAt=${update.value(checkAtMs)}`)
  // Wake ignores patient timers, and an earlier patient one would hide this prompt one.
  setCheckAt(update, isEarlier ? asPrompt(checkAtMs) : atMs, nowMs)
}

/** Sets the timer, and the flag that makes the stream announce it if it is near; otherwise removes the flag. */
export function setCheckAt(update: Expression, atMs: number, nowMs: number): void {
  update.set('checkAt', atMs)
  if (isNear(atMs, nowMs)) update.set('wk', 'y')
  else update.removes.push('wk')
}
