// Time and randomness, and the machine's own for callers who pass no others.

export type Clock = {
  nowMs(): number
  /** Resolves early when the signal comes. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** In place of a sleep while no lock is held: a test's clock moves on, and nobody waits. */
  skip?(ms: number, signal?: AbortSignal): Promise<void>
}
export type Random = () => number

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
    }),
}

/** For what is stored as whole milliseconds: another clock, such as that of `performance`, may have fractions. */
export const inWholeMs = (clock: Clock): Clock => ({
  nowMs: () => Math.floor(clock.nowMs()),
  sleep: (ms, signal) => clock.sleep(ms, signal),
})

/** 32 bits at a time from the system's generator; each call into it fills a pool. */
export const secureRandom: Random = (() => {
  const pool = new Uint32Array(256)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const value = pool[used] as number
    used += 1
    return value / 2 ** 32
  }
})()
