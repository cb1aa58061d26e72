import type { Admission } from '../../../../../lambdas/rate/rate-limits.ts'
import type { RateCall } from '../../actors/rate/rate-call.ts'
import type { RateRows, RowHistory, Slot } from './rate-rows.ts'
import { isFull, isIdle, type ReadRow } from './read-row.ts'

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
  const history = rows.of(`r#${command.key}#0`)
  const keptMs = Math.min(
    REMEMBERED_MAX_MS,
    Math.max(REMEMBERED_MIN_MS, answer.windowMillis / 10 + 10_000),
  )
  const justified = statesSince(history, operation.startedMs - keptMs).some((row) => {
    // Under other rules the row would be handed over, and the model cannot know the answer.
    const asRuled =
      row.max === answer.limit &&
      row.windowMs === answer.windowMillis &&
      row.window === (answer.algorithm === 'window')
    return asRuled
      ? // Its burst may be another's; that there is one, the probe sees.
        isFull({ ...row, burst: 1 }, cost, inLine, operation.clockMinMs)
      : !isIdle(row, operation.clockMinMs)
  })
  const told = (): string => {
    const row = JSON.stringify(history.states.at(-1)?.row)
    return `#${operation.id} ${JSON.stringify(answer)}, clock ${operation.clockMinMs}, row ${row}`
  }
  rows.must(justified, 'no denial while there is room', told)
}

/** As it was at that time, and ever since. */
function statesSince({ states }: RowHistory, sinceMs: number): ReadRow[] {
  const first = states.findLastIndex(({ fromMs }) => fromMs <= sinceMs)
  return states
    .slice(Math.max(0, first))
    .map(({ row }) => row)
    .filter((row) => row !== undefined)
}

/** No process uses patterns for longer than that after they have changed, however its clock is set meanwhile. */
const PATTERNS_SETTLE_MS = 60_000

/**
 * The time that a denial names is exact: while nothing else happens to the row, the same call of the same process is
 * denied before it and goes at it.
 */
export class Openings {
  readonly #rows: RateRows
  readonly #told = new Map<string, { readonly opensMs: number; readonly states: number }>()

  constructor(rows: RateRows) {
    this.#rows = rows
  }

  check(call: RateCall, answer: Admission, slot: Slot | undefined): void {
    const { command, operation } = call
    if (command.verb !== 'admit' || answer.kind === 'override-refused') return
    const pk = `r#${command.key}#0`
    const { states } = this.#rows.of(pk)
    const ask = JSON.stringify([operation.writer, pk, { ...command.request, maxWaitMs: 0 }])
    const told = this.#told.get(ask)
    if (operation.startedMs - this.#rows.patternsMs < PATTERNS_SETTLE_MS) {
      this.#told.delete(ask)
      return
    }
    const say = (): string => `#${operation.id} ${JSON.stringify({ told, answer })}`
    if (answer.kind !== 'denied') {
      const isSame = slot !== undefined && slot.at === told?.states
      const early = isSame && slot.clockMs < told.opensMs
      if (isSame) this.#rows.world.statistics.count('path came back when a denial said')
      this.#rows.must(!early, 'nobody goes before the time that a denial named', say)
      return
    }
    const isSame = states.length === told?.states
    const again = isSame && operation.clockMinMs >= told.opensMs
    this.#rows.must(!again, 'whoever comes at the time that a denial named goes', say)
    if (call.knows(pk)) this.#told.set(ask, { opensMs: answer.retryAtMs, states: states.length })
    else this.#told.delete(ask)
  }
}
