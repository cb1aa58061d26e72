// Time that passes only when every task waits for it: ten seconds of 128 producers take as long as they
// compute, and the same seed gives the same run.

export type VirtualTime = {
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** Runs everything that was started until the clock shows `untilMs`. */
  run(untilMs: number): Promise<void>
}

type Sleeper = { readonly dueMs: number; readonly order: number; readonly wake: () => void }

export function createVirtualTime(startMs: number): VirtualTime {
  const sleepers = new Heap<Sleeper>(isBefore)
  let nowMs = startMs
  let order = 0
  return {
    nowMs: () => nowMs,
    sleep: (ms) =>
      new Promise((wake) => {
        sleepers.push({ dueMs: nowMs + Math.max(0, ms), order: order++, wake })
      }),
    async run(untilMs) {
      for (;;) {
        await settled()
        const next = sleepers.peek()
        if (next === undefined || next.dueMs > untilMs) break
        nowMs = next.dueMs
        sleepers.pop()?.wake()
      }
      nowMs = untilMs
    },
  }
}

/** After a turn of the loop every promise that could resolve without a sleep has done so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const isBefore = (a: Sleeper, b: Sleeper): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

/** Gives back the entry that comes first in the order given. */
export class Heap<T> {
  readonly #entries: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  peek(): T | undefined {
    return this.#entries[0]
  }

  push(entry: T): void {
    const entries = this.#entries
    let at = entries.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(entry, entries[parent] as T)) break
      entries[at] = entries[parent] as T
      at = parent
    }
    entries[at] = entry
  }

  pop(): T | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= entries.length) break
      const right = child + 1
      if (right < entries.length && this.#isBefore(entries[right] as T, entries[child] as T)) {
        child = right
      }
      if (!this.#isBefore(entries[child] as T, last)) break
      entries[at] = entries[child] as T
      at = child
    }
    entries[at] = last
    return first
  }
}
