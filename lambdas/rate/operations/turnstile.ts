/** How often one call steps back for others of its process before it goes anyway. */
const STEPS_BACK_MAX = 1_000

/** We do not wait for a request that takes longer: its environment may have been frozen. */
const HUNG_MS = 2_000

type Call = { readonly sinceMs: number }
type Row = { readonly underWay: Set<Call>; readonly waiting: (() => void)[] }

/**
 * Regulates the concurrent calls of one process on one row. It lets only as many go as the row seems to have room for.
 * The others wait for an answer that shows whether there is more, and can then be denied from memory instead of by a
 * write each. If only one call runs at a time, as in a Lambda, none ever waits.
 */
export class Turnstile {
  readonly #rows = new Map<string, Row>()

  /** Whether one more call may go now; always if none is under way, because one must ask. */
  admits(name: string, room: number, stepsBack: number, nowMs: number): boolean {
    const calls = this.#rows.get(name)?.underWay ?? []
    let underWay = 0
    for (const { sinceMs } of calls) if (Math.abs(nowMs - sinceMs) < HUNG_MS) underWay += 1
    return underWay < Math.max(1, room) || stepsBack >= STEPS_BACK_MAX
  }

  /** Resolves when one of the calls under way has its answer. */
  next(name: string): Promise<void> {
    return new Promise((resolve) => {
      const row = this.#rows.get(name)
      if (row === undefined) resolve()
      else row.waiting.push(resolve)
    })
  }

  async pass<T>(name: string, nowMs: number, work: () => Promise<T>): Promise<T> {
    const row: Row = this.#rows.get(name) ?? { underWay: new Set(), waiting: [] }
    this.#rows.set(name, row)
    const call: Call = { sinceMs: nowMs }
    row.underWay.add(call)
    try {
      return await work()
    } finally {
      row.underWay.delete(call)
      if (row.underWay.size === 0) this.#rows.delete(name)
      // Each looks again, in order of arrival.
      for (const wake of row.waiting.splice(0)) wake()
    }
  }
}
