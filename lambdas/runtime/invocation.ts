import type { Clock } from '../foundation/system.ts'
import type { Level } from './log.ts'

/** What we use of Lambda's context. Not the type of `aws-lambda`: users need not install that package. */
export type InvocationContext = {
  readonly awsRequestId?: string
  getRemainingTimeInMillis?(): number
  /** A test's clock (`fakeContext` of `pushpop/testing`). Lambda passes none: then we use the system's. */
  readonly clock?: Clock
  /** Which of our log lines a test wants to see (`fakeContext`, too). Without it, the environment decides. */
  readonly logLevel?: Level
}

/** A minute, where there is no Lambda to say how long an invocation may take. */
const REMAINING_UNKNOWN_MS = 60_000

export function remainingMsOf({ getRemainingTimeInMillis }: InvocationContext): () => number {
  const endMs = performance.now() + REMAINING_UNKNOWN_MS
  return getRemainingTimeInMillis ?? (() => Math.max(0, endMs - performance.now()))
}

/** For a log line: the milliseconds since then. */
export const stopwatch =
  (startedMs = performance.now()): (() => number) =>
  () =>
    Math.round((performance.now() - startedMs) * 10) / 10
