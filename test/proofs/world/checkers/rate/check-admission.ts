import type { TicketState } from '../../../../../lambdas/rate/operations/tickets.ts'
import type { Admission } from '../../../../../lambdas/rate/rate-limits.ts'
import type { RateCall, Slot } from './rate-call.ts'
import type { RateRows } from './rows.ts'

/** Compares what a process answered with what its writes did; returns the slot that it goes on. */
export function checkAdmission(
  rows: RateRows,
  { operation, slots }: RateCall,
  answer: Admission,
  { mayWaste }: { readonly mayWaste: boolean },
): Slot | undefined {
  const meant = slots.filter((one) => isOf(one, answer))
  const slot = meant.findLast(({ late }) => !late) ?? meant.at(-1)
  if (slot !== undefined) rows.settle(slot)
  const must = (holds: boolean, rule: string): void =>
    rows.must(holds, rule, operation.id, answer, slot?.position, slot?.turnMs)
  rows.world.statistics.count(`answer ${answer.kind}`)
  if (answer.kind === 'denied' || answer.kind === 'override-refused') {
    const took = slots.some(({ open }) => open === undefined)
    // By a lost answer, or by one that came too late, if only by a clock that was set.
    must(!took || mayWaste, 'whoever is denied or refused has no slot')
    if (answer.kind === 'denied') must(answer.retryAfterMs > 0, 'a time to come back')
    return undefined
  }
  must(slot !== undefined, 'a slot for whoever goes or is promised one')
  must(slot?.late !== true, 'nobody goes on a slot that is over')
  if (answer.kind === 'promised') {
    must(slot?.turnMs === answer.turn.notBeforeMs, 'a promise is of the slot that was taken')
    must(answer.position >= 1, 'a place in line')
    return slot
  }
  const latestMs = Math.max(operation.clockMaxMs, slot?.row.atMs ?? 0)
  must((slot?.turnMs ?? 0) <= latestMs, 'nobody goes before his turn')
  if (answer.waitedMs > 0) rows.world.statistics.count('answer allowed after waiting')
  return slot
}

/** Whether the answer speaks of this slot: a process may have taken several, and wasted all but one. */
function isOf(slot: Slot, answer: Admission): boolean {
  if (answer.kind === 'allowed') return slot.turnMs === answer.window.startMs
  if (answer.kind !== 'promised') return false
  return slot.row.epoch === answer.turn.epoch && slot.position === answer.turn.position
}

/** A promised turn never moves, whatever has happened to the limit since. */
export function checkVerified(
  rows: RateRows,
  { command, operation }: RateCall,
  state: TicketState,
): void {
  if (command.verb !== 'verify') return
  const { turn } = command
  const same = state.kind !== 'invalid' && state.turn.notBeforeMs === turn.notBeforeMs
  const early = state.kind !== 'waiting' && operation.clockMaxMs < turn.notBeforeMs
  const late = state.kind === 'waiting' && operation.clockMinMs >= turn.notBeforeMs
  rows.must(same && !early && !late, 'a promised turn never moves', operation.id, state, turn)
}
