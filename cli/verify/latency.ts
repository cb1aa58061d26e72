import type { Call } from './meter.ts'
import type { Operation } from './operation.ts'

export type Latency = {
  readonly operation: Operation
  readonly calls: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** By operation, the most frequent first. */
export function latenciesOf(calls: readonly Call[]): readonly Latency[] {
  const byOperation = Map.groupBy(calls, ({ operation }) => operation)
  return [...byOperation]
    .map(([operation, some]) => {
      const sorted = some.map(({ ms }) => ms).sort((a, b) => a - b)
      const [p50Ms, p99Ms] = [atRank(sorted, 0.5), atRank(sorted, 0.99)]
      return { operation, calls: some.length, p50Ms, p99Ms }
    })
    .sort((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1))
}

/** The smallest value that this share of them does not exceed. */
const atRank = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
