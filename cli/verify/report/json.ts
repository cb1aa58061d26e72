import { latenciesOf } from '../latency.ts'
import type { Call } from '../meter.ts'
import { countOf, type Report } from './summary.ts'

export function jsonReport({ played, cost, version, where, auth, startedAtMs }: Report): string {
  return JSON.stringify({
    success: countOf(played, 'broken') + countOf(played, 'undecided') === 0,
    version,
    where,
    auth,
    started_at: startedAtMs / 1_000,
    duration_ms: Math.round(played.ms),
    holds: countOf(played, 'holds'),
    broken: countOf(played, 'broken'),
    undecided: countOf(played, 'undecided'),
    skipped: countOf(played, 'skipped'),
    calls: played.calls.length,
    estimated_dollars: cost.dollars,
    seen: Object.fromEntries(played.seen),
    kept_queues: played.kept,
    left_behind: played.leftBehind,
    latencies: latencyBodies(played.calls),
    checks: played.results.map(({ check, verdict, steps, calls, ms }) => ({
      name: check.name,
      promise: check.promise,
      verdict,
      duration_ms: Math.round(ms),
      calls: calls.length,
      latencies: latencyBodies(calls),
      steps: steps.map((step) => ({
        name: step.name,
        verdict: step.verdict.kind,
        ...(step.verdict.kind !== 'holds' && { reason: step.verdict.reason }),
      })),
    })),
  })
}

const latencyBodies = (calls: readonly Call[]) =>
  latenciesOf(calls).map((it) => ({
    operation: it.operation,
    calls: it.calls,
    p50_ms: rounded(it.p50Ms),
    p99_ms: rounded(it.p99Ms),
  }))

const rounded = (ms: number): number => Math.round(ms * 10) / 10
