/** How often one call steps back for others of its process before it goes anyway. */
const STEPS_BACK_MAX = 1_000

/** A request that takes longer is not waited for: its environment may have been frozen under it. */
const HUNG_MS = 2_000

type Call = { readonly sinceMs: number }
type Row = { readonly underWay: Set<Call>; readonly waiting: (() => void)[] }

/**
 * Calls of one process on one row at once. No more are under way than the row may have room for, as
 * far as this process knows: the rest wait for an answer that tells them, and are denied from memory
 * rather than by a write each. Where one call runs at a time, as in a Lambda, nobody ever waits.
 */
export class Turnstile {
  readonly #rows = new Map<string, Row>()

  /** Whether one more may go now; with none under way, always: somebody must ask. */
  admits(name: string, room: number, stepsBack: number, nowMs: number): boolean {
    const calls = this.#rows.get(name)?.underWay ?? []
    let underWay = 0
    for (const { sinceMs } of calls) if (Math.abs(nowMs - sinceMs) < HUNG_MS) underWay += 1
    return underWay < Math.max(1, room) || stepsBack >= STEPS_BACK_MAX
  }

  /** Until one of those under way has its answer. */
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
      // In order of arrival, each looks again.
      for (const wake of row.waiting.splice(0)) wake()
    }
  }
}
