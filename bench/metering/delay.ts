// Waits that are as long as they say. A plain `setTimeout(5)` takes 5 to 6.3 ms here, an error as large as the
// differences that we measure; so a timer gets us near, and the loop's own turns do the rest.

const timerErrorMs = 1.2

type Lateness = { readonly waits: number; readonly meanMs: number }

export type Delay = {
  wait(ms: number): Promise<void>
  /**
   * How late the waits ended says whether this process kept up: a loop that is busy with other
   * producers ends them late, and then the figure is the machine's, not the algorithm's.
   */
  lateness(): Lateness
}

export function createDelay(): Delay {
  const waiting: { readonly dueMs: number; readonly resolve: () => void }[] = []
  let timer: NodeJS.Timeout | undefined
  let timerDueMs = Number.POSITIVE_INFINITY
  let turning = false
  let waits = 0
  let lateMs = 0

  function pump() {
    timer = undefined
    turning = false
    const nowMs = performance.now()
    let nextMs = Number.POSITIVE_INFINITY
    for (let i = waiting.length - 1; i >= 0; i--) {
      const wait = waiting[i] as (typeof waiting)[number]
      if (wait.dueMs > nowMs) {
        nextMs = Math.min(nextMs, wait.dueMs)
        continue
      }
      waiting.splice(i, 1)
      waits += 1
      lateMs += nowMs - wait.dueMs
      wait.resolve()
    }
    schedule(nextMs)
  }

  function schedule(dueMs: number) {
    if (turning || dueMs === Number.POSITIVE_INFINITY) return
    if (timer !== undefined) {
      if (timerDueMs <= dueMs) return
      clearTimeout(timer)
      timer = undefined
    }
    const nearMs = Math.floor(dueMs - performance.now() - timerErrorMs)
    if (nearMs >= 1) {
      timerDueMs = dueMs
      timer = setTimeout(pump, nearMs)
    } else {
      turning = true
      setImmediate(pump)
    }
  }

  return {
    wait(ms) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const dueMs = performance.now() + ms
        waiting.push({ dueMs, resolve })
        schedule(dueMs)
      })
    },
    lateness: () => ({ waits, meanMs: waits === 0 ? 0 : lateMs / waits }),
  }
}
