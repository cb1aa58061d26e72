import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { asPrompt, isNear, isPatient } from '../core/timers.ts'

/**
 * Sees to it, beside the fence, that somebody comes at this time: the timer must be no later. What was seen
 * decides what the update does, and its conditions that this was right.
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
  // Nobody hurries to a patient timer, and a prompt one would be hidden behind it.
  setCheckAt(update, isEarlier ? asPrompt(checkAtMs) : atMs, nowMs)
}

/** With the flag that has it told of where it is near, and without it where it is not. */
export function setCheckAt(update: Expression, atMs: number, nowMs: number): void {
  update.set('checkAt', atMs)
  if (isNear(atMs, nowMs)) update.set('wk', 'y')
  else update.removes.push('wk')
}
