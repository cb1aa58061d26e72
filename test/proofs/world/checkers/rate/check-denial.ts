import type { Admission } from '../../../../../lambdas/rate/rate-limits.ts'
import type { RateCall, Slot } from './rate-call.ts'
import { isFull, isIdle } from './read-row.ts'
import type { RateRows } from './rows.ts'

type Denied = Extract<Admission, { kind: 'denied' }>

/** "Denied" is remembered for a minute at most, and clocks may be set by ten seconds meanwhile. */
const REMEMBERED_MAX_MS = 60_000 + 10_000
const REMEMBERED_MIN_MS = 1_000 + 10_000

/** Nobody is denied while there is room, but by a memory of when there was none. Only for keys of one shard. */
export function checkDenial(
  rows: RateRows,
  { command, operation }: RateCall,
  answer: Denied,
): void {
  if (command.verb !== 'admit') return
  const { cost = 1, canWait = false, overrides } = command.request
  // Of the shortest line that may have applied to it.
  const inLine = canWait ? Math.min(rows.lines.min, overrides?.maxRequestsInQueue ?? 1e9) : 0
  const { states } = rows.of(`r#${command.key}#0`)
  const keptMs = Math.min(
    REMEMBERED_MAX_MS,
    Math.max(REMEMBERED_MIN_MS, answer.windowMillis / 10 + 10_000),
  )
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
}

/** No process uses patterns for longer than that after they have changed, however its clock is set meanwhile. */
const PATTERNS_SETTLE_MS = 60_000

/**
 * The time that a denial names is exact: while nothing else happens to the row, the same call of the same process is
 * denied before it and goes at it. Only for keys of one shard.
 */
export class Openings {
  readonly #rows: RateRows
  readonly #told = new Map<string, { readonly opensMs: number; readonly states: number }>()

  constructor(rows: RateRows) {
    this.#rows = rows
  }

  check({ command, operation, knows }: RateCall, answer: Admission, slot: Slot | undefined): void {
    if (command.verb !== 'admit' || answer.kind === 'override-refused') return
    const pk = `r#${command.key}#0`
    const { length } = this.#rows.of(pk).states
    const ask = JSON.stringify([operation.writer, pk, { ...command.request, maxWaitMs: 0 }])
    const told = this.#told.get(ask)
    const isSettled = operation.startedMs - this.#rows.patternsMs >= PATTERNS_SETTLE_MS
    if (isSettled && slot !== undefined && slot.at === told?.states) {
      this.#rows.world.statistics.count('path came back when a denial said')
      const isEarly = slot.clockMs < told.opensMs
      this.#rows.must(!isEarly, 'nobody goes before the time of a denial', operation.id, told)
    }
    if (isSettled && answer.kind === 'denied' && length === told?.states) {
      const isLate = operation.clockMinMs >= told.opensMs
      this.#rows.must(!isLate, 'who comes at the time of a denial goes', operation.id, told)
    }
    if (answer.kind !== 'denied') return
    if (isSettled && knows(pk)) this.#told.set(ask, { opensMs: answer.retryAtMs, states: length })
    else this.#told.delete(ask)
  }
}
