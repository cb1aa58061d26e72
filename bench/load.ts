// Several workers, each doing one thing after another for a while.

type Load = {
  readonly workers: number
  readonly warmUpSeconds: number
  readonly seconds: number
  /** Answers false if it had to give way and did nothing. */
  step(worker: number): Promise<boolean>
  /** The counters are read when the warm-up is over. */
  onStart?(): void
}

export type LoadResult = {
  readonly done: number
  readonly gaveWay: number
  readonly perSecond: number
  readonly durationsMs: readonly number[]
  readonly medianMs: number
  readonly p99Ms: number
}

export async function runLoad(load: Load): Promise<LoadResult> {
  const startMs = performance.now() + load.warmUpSeconds * 1000
  const endMs = startMs + load.seconds * 1000
  const durationsMs: number[] = []
  let gaveWay = 0
  let started = false

  async function work(worker: number) {
    for (;;) {
      const beganMs = performance.now()
      if (beganMs >= endMs) return
      if (!started && beganMs >= startMs) {
        started = true
        load.onStart?.()
      }
      const did = await load.step(worker)
      const nowMs = performance.now()
      if (nowMs < startMs || nowMs >= endMs) continue
      if (did) durationsMs.push(nowMs - beganMs)
      else gaveWay += 1
    }
  }
  await Promise.all(Array.from({ length: load.workers }, (_, worker) => work(worker)))

  return resultOf(durationsMs, gaveWay, durationsMs.length / load.seconds)
}

/** Joins several turns of the same length: the throughput is the median's. */
export function joinResults(turns: readonly LoadResult[]): LoadResult {
  const gaveWay = turns.reduce((sum, turn) => sum + turn.gaveWay, 0)
  const rates = turns.map(({ perSecond }) => perSecond)
  return resultOf(
    turns.flatMap(({ durationsMs }) => durationsMs),
    gaveWay,
    quantile(rates, 0.5),
  )
}

const resultOf = (durationsMs: number[], gaveWay: number, perSecond: number): LoadResult => ({
  done: durationsMs.length,
  gaveWay,
  perSecond,
  durationsMs,
  medianMs: quantile(durationsMs, 0.5),
  p99Ms: quantile(durationsMs, 0.99),
})

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}
