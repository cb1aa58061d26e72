import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../shared/system.ts'

export type FakeContextOptions = {
  readonly functionName?: string | undefined
  /** The function's timeout, from which the remaining time counts down. Default: 60. */
  readonly timeoutSeconds?: number | undefined
  readonly memoryMb?: number | undefined
  /** `store.clock` of `startQueues`: a handler of `consumer(…)` then uses the test's time. */
  readonly clock?: Clock | undefined
  /**
   * Which log lines a handler of `consumer(…)` writes: `info` shows the line of each run, with its metrics, as on AWS;
   * `warn` only what failed, and why. Default: `PUSHPOP_LOG_LEVEL`, or else `warn`.
   */
  readonly logLevel?: LogLevel | undefined
}

const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

const logLevelOf = ({ PUSHPOP_LOG_LEVEL: wanted }: NodeJS.ProcessEnv): LogLevel =>
  logLevels.find((known) => known === wanted?.toLowerCase()) ?? 'warn'

/** It has what Lambda's own has, and fits `Context` of `@types/aws-lambda`. */
export type FakeContext = ReturnType<typeof fakeContext>

/** The context of one invocation, for a handler that a test calls. */
export function fakeContext({
  functionName = 'test',
  timeoutSeconds = 60,
  memoryMb = 256,
  clock = systemClock,
  logLevel = logLevelOf(process.env),
}: FakeContextOptions = {}) {
  const endsAtMs = performance.now() + 1_000 * timeoutSeconds
  const arn = `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`
  return {
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: arn,
    memoryLimitInMB: String(memoryMb),
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'test',
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAtMs - performance.now())),
    /** Only old handlers call these, and Lambda ignores them for those that return a promise. */
    done() {},
    fail() {},
    succeed() {},
    clock,
    logLevel,
  }
}
