// Time that passes only when every task waits for it: ten seconds of 128 producers take as long as they
// compute, and the same seed gives the same run.

import { Heap } from './heap.ts'

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
