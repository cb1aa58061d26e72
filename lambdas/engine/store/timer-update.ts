import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { asPrompt, isNear, isPatient } from '../core/timers.ts'

/**
 * Makes sure, outside the fence, that the sweeper or Wake comes by this time: the timer must be no later. The
 * update goes by the record as seen, and its conditions check that this still holds.
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
  // Wake does not come for a patient timer, which would hide a prompt one.
  setCheckAt(update, isEarlier ? asPrompt(checkAtMs) : atMs, nowMs)
}

/** With the flag that makes the stream announce it if it is near, and without the flag if not. */
export function setCheckAt(update: Expression, atMs: number, nowMs: number): void {
  update.set('checkAt', atMs)
  if (isNear(atMs, nowMs)) update.set('wk', 'y')
  else update.removes.push('wk')
}
