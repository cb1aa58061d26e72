import type { Admission } from '../../../../../lambdas/rate/rate-limits.ts'
import type { RateCall } from './rate-call.ts'
import type { RateRows, Slot } from './rows.ts'

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
