import type { Admission } from '../../../../../rate/rate-limits.ts'
import type { TicketState } from '../../../../../rate/tickets.ts'
import { isFull, isIdle, type RateCall, type RateRows, type Slot } from './rows.ts'

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
export function checkVerified(rows: RateRows, call: RateCall, state: TicketState): void {
  const { command, operation } = call
  if (command.verb !== 'verify') return
  const { turn } = command
  const same = state.kind !== 'invalid' && state.turn.notBeforeMs === turn.notBeforeMs
  const early = state.kind !== 'waiting' && operation.clockMaxMs < turn.notBeforeMs
  const late = state.kind === 'waiting' && operation.clockMinMs >= turn.notBeforeMs
  rows.must(same && !early && !late, 'a promised turn never moves', operation.id, state, turn)
}

/** "Denied" is remembered for a minute at most, and clocks may be set by ten seconds meanwhile. */
const REMEMBERED_MAX_MS = 60_000 + 10_000
const REMEMBERED_MIN_MS = 1_000 + 10_000

/** Nobody is denied while there is room, but by a memory of when there was none. Only for keys of one shard. */
export function checkDenial(rows: RateRows, call: RateCall, answer: Admission): void {
  const { command, operation } = call
  if (command.verb !== 'admit' || answer.kind !== 'denied') return
  const { cost = 1, canWait = false, overrides } = command.request
  // Of the shortest line that may have applied to it.
  const inLine = canWait ? Math.min(rows.lines.min, overrides?.maxRequestsInQueue ?? 1e9) : 0
  const { states } = rows.of(`r#${command.key}#0`)
  const aTenthMs = Math.max(REMEMBERED_MIN_MS, answer.windowMillis / 10 + 10_000)
  const keptMs = Math.min(REMEMBERED_MAX_MS, aTenthMs)
  // As it was at that time, and ever since.
  const sinceMs = operation.startedMs - keptMs
  const first = states.findLastIndex(({ fromMs }) => fromMs <= sinceMs)
  const { clockMinMs } = operation
  const isJustified = states.slice(Math.max(0, first)).some(({ row }) => {
    if (row === undefined) return false
    const isAsRuled =
      row.max === answer.limit &&
      row.windowMs === answer.windowMillis &&
      row.window === (answer.algorithm === 'window')
    // Under other rules the row would be handed over, and the model cannot know the answer.
    if (!isAsRuled) return !isIdle(row, clockMinMs)
    // Its burst may be another's; that there is one, the probe sees.
    return isFull({ ...row, burst: 1 }, cost, inLine, clockMinMs)
  })
  const told = [operation.id, answer, clockMinMs, states.at(-1)?.row]
  rows.must(isJustified, 'no denial while there is room', ...told)
  // Or what was used would be forgotten with the window of the old settings.
  const row = call.knows(`r#${command.key}#0`) ? states.at(-1)?.row : undefined
  if (row === undefined || row.configured) return
  const isLeft = row.revision >= (call.patterns() ?? 0)
  rows.must(isLeft, 'who is denied by newer settings leaves the row to them', ...told)
}

/**
 * The time that a denial names is exact: while nothing else happens to the row, the same call of the same process is
 * denied before it and goes at it. Only for keys of one shard.
 */
export function openingsOf(rows: RateRows) {
  const known = new Map<string, { readonly opensMs: number; readonly states: number }>()
  return (call: RateCall, answer: Admission, slot: Slot | undefined) => {
    const { command, operation, knows } = call
    if (command.verb !== 'admit' || answer.kind === 'override-refused') return
    const pk = `r#${command.key}#0`
    const { length } = rows.of(pk).states
    const patterns = call.patterns()
    const request = { ...command.request, maxWaitMs: 0 }
    const ask = JSON.stringify([operation.writer, pk, patterns, request])
    const told = known.get(ask)
    const isSettled = patterns !== undefined
    if (isSettled && slot !== undefined && slot.at === told?.states) {
      rows.world.statistics.count('path came back when a denial said')
      const isEarly = slot.clockMs < told.opensMs
      rows.must(!isEarly, 'nobody goes before the time of a denial', operation.id, told)
    }
    if (isSettled && answer.kind === 'denied' && length === told?.states) {
      const isLate = operation.clockMinMs >= told.opensMs
      rows.must(!isLate, 'who comes at the time of a denial goes', operation.id, told)
    }
    if (answer.kind !== 'denied') return
    if (isSettled && knows(pk)) known.set(ask, { opensMs: answer.retryAtMs, states: length })
    else known.delete(ask)
  }
}
