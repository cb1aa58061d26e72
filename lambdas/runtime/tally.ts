import { AsyncLocalStorage } from 'node:async_hooks'
import type { MetricName } from './metric-names.ts'

/** What one invocation has used and done. Only its log line reads it. */
export class Tally {
  dynamodbRequests = 0
  writeUnits = 0
  readUnits = 0
  s3Requests = 0
  conflicts = 0
  /** Failures of work that no answer waited for. */
  backgroundFailures = 0
  /** How long the call waited because its caller asked for that. */
  heldMs = 0
  readonly metrics = new Map<MetricName, number>()

  count(metric: MetricName, value: number): void {
    if (value !== 0) this.metrics.set(metric, (this.metrics.get(metric) ?? 0) + value)
  }

  /** Keeps the largest of several values: a line shows the worst one, not their sum. */
  most(metric: MetricName, value: number): void {
    if (value > (this.metrics.get(metric) ?? 0)) this.metrics.set(metric, value)
  }
}

/** What an invocation has used, for its log line; requests and conflicts are metrics too. */
export function usageOf(tally: Tally) {
  tally.count('Attempts', tally.dynamodbRequests)
  tally.count('Conflicts', tally.conflicts)
  return {
    dynamodb_requests: tally.dynamodbRequests,
    write_units: tally.writeUnits,
    read_units: tally.readUnits,
    s3_requests: tally.s3Requests,
    conflicts: tally.conflicts,
    background_failures: tally.backgroundFailures || undefined,
  }
}

/**
 * An environment handles one event at a time, but work that an answer did not wait for may go on when the next
 * event thaws the process. By its async context, each request counts for the event to which it belongs.
 */
const current = new AsyncLocalStorage<Tally>()

export const withTally = <T>(tally: Tally, work: () => T): T => current.run(tally, work)

export const currentTally = (): Tally | undefined => current.getStore()
