import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { earliestOf, isNear } from '../core/timers.ts'
import { recordUpdate } from './record-update.ts'

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
  // Wake ignores patient timers: of the two, neither may hide a prompt one.
  const wantedMs = earliestOf([checkAtMs, atMs]) as number
  if (checkAtMs === undefined) update.condition('attribute_not_exists(checkAt)')
  else if (checkAtMs === wantedMs) update.condition(`checkAt<=${update.value(atMs)}`)
  else update.condition(`checkAt=${update.value(checkAtMs)}`)
  if (checkAtMs !== wantedMs) setCheckAt(update, wantedMs, nowMs)
}

/**
 * For what needs Wake and does not set the timer: somebody may have moved the one that we saw, and set a patient one,
 * which would hide ours. One that the stream announces is prompt.
 */
export function unlessPatientSince(update: Expression, seenMs: number): void {
  update.condition(`(checkAt=${update.value(seenMs)} OR attribute_exists(wk))`)
}

/** The same as a separate write. */
export function checkAtUpdate(
  seen: QueueRecord,
  atMs: number,
  nowMs: number,
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`born=${update.value(seen.born)}`)
  update.sets.push('born=born')
  lowerCheckAt(update, seen, atMs, nowMs)
  return update.build()
}

/** Sets the timer, and the flag that makes the stream announce it if it is near; otherwise removes the flag. */
export function setCheckAt(update: Expression, atMs: number, nowMs: number): void {
  update.set('checkAt', atMs)
  if (isNear(atMs, nowMs)) update.set('wk', 'y')
  else update.removes.push('wk')
}
