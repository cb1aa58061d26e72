// Time that passes only when nobody can do anything without it: ten seconds of 128 producers take
// as long as their computing does, and the same seed gives the same run.

export type VirtualTime = {
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** Runs what was started until the clock shows `untilMs`. */
  run(untilMs: number): Promise<void>
}

type Sleeper = { readonly dueMs: number; readonly order: number; readonly wake: () => void }

export function createVirtualTime(startMs: number): VirtualTime {
  const sleepers = createHeap()
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

const before = (a: Sleeper, b: Sleeper): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

function createHeap() {
  const heap: Sleeper[] = []
  const at = (i: number) => heap[i] as Sleeper
  const swap = (i: number, j: number) => {
    ;[heap[i], heap[j]] = [at(j), at(i)]
  }
  return {
    peek: (): Sleeper | undefined => heap[0],
    push(sleeper: Sleeper) {
      heap.push(sleeper)
      for (let i = heap.length - 1; i > 0; ) {
        const parent = (i - 1) >> 1
        if (before(at(parent), at(i))) return
        swap(i, parent)
        i = parent
      }
    },
    pop(): Sleeper | undefined {
      const top = heap[0]
      const last = heap.pop()
      if (heap.length === 0 || last === undefined) return top
      heap[0] = last
      for (let i = 0; ; ) {
        const [left, right] = [2 * i + 1, 2 * i + 2]
        let least = i
        if (left < heap.length && before(at(left), at(least))) least = left
        if (right < heap.length && before(at(right), at(least))) least = right
        if (least === i) return top
        swap(i, least)
        i = least
      }
    },
  }
}
