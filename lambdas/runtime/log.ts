// What every invocation of a function has: its environment, its time, and one log line at its end, which carries what
// it used and its metrics. Nothing secret goes into a log: no item, no lock's id, and of an error only what describes
// it.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { PopOutcome } from '../../engine/queues.ts'
import { type LogLevel, logLevels } from '../../shared/log-levels.ts'
import type { Clock } from '../../shared/system.ts'
import {
  type FunctionName,
  METRIC_NAMESPACE,
  type MetricName,
  type OptionalFunctionName,
  SERVICE_DIMENSION,
  metrics as units,
  variables,
} from './names.ts'

/** What the template gives a function: `process.env`, except in tests. */
export type Environment = Readonly<Record<string, string | undefined>>

export function required(environment: Environment, name: string): string {
  const value = environment[name]
  if (value) return value
  throw new Error(`Cannot start because the environment variable ${name} is not set`)
}

/** A positive integer. An empty variable counts as one that is not set. */
export function numberIn(environment: Environment, name: string): number | undefined {
  const value = environment[name]
  if (!value) return undefined
  const number = Number(value)
  if (Number.isInteger(number) && number > 0) return number
  throw new Error(`Cannot start because ${name} must be a positive integer, not "${value}"`)
}

export type Fields = Readonly<Record<string, unknown>>

export type Log = {
  /** One line; fields that are undefined are left out. */
  write(level: LogLevel, message: string, fields?: Fields): void
  /** The one line of an invocation, which carries its metrics as well. */
  invocation(level: LogLevel, message: string, fields: Fields, tally: Tally, nowMs: number): void
}

type LogOptions = {
  readonly level: LogLevel
  /** The stack's name: the dimension of every metric. */
  readonly service: string
  /** `with-their-line`: a test that wants fewer lines wants no metrics either. `always` unless set. */
  readonly metrics?: 'always' | 'with-their-line'
  readonly write?: (line: string) => void
}

/**
 * Writes lines of JSON to standard output, not by `console.log`: Lambda's puts its own text before each
 * line by default, and CloudWatch then finds no metrics in it.
 */
export function createLog({
  level,
  service,
  metrics = 'always',
  write = toStandardOutput,
}: LogOptions): Log {
  const isWanted = (line: LogLevel): boolean => logLevels.indexOf(line) >= logLevels.indexOf(level)
  return {
    write(lineLevel, message, fields = {}) {
      if (isWanted(lineLevel)) write(JSON.stringify({ level: lineLevel, message, ...fields }))
    },
    invocation(lineLevel, message, fields, tally, nowMs) {
      const embedded = embeddedMetrics(service, tally, nowMs)
      if (isWanted(lineLevel)) {
        write(JSON.stringify({ level: lineLevel, message, ...fields, ...embedded }))
      } else if (embedded !== undefined && metrics === 'always') {
        // On AWS a log level of fewer lines must not turn the metrics off.
        write(JSON.stringify(embedded))
      }
    },
  }
}

const toStandardOutput = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

/** CloudWatch's embedded metric format: metrics that cost no request and no time. */
function embeddedMetrics(service: string, tally: Tally, nowMs: number): Fields | undefined {
  if (tally.metrics.size === 0) return undefined
  const names = [...tally.metrics.keys()]
  return {
    [SERVICE_DIMENSION]: service,
    ...Object.fromEntries(tally.metrics),
    _aws: {
      Timestamp: nowMs,
      CloudWatchMetrics: [
        {
          Namespace: METRIC_NAMESPACE,
          Dimensions: [[SERVICE_DIMENSION]],
          Metrics: names.map((Name) => ({ Name, Unit: units[Name] })),
        },
      ],
    },
  }
}

export function logOf(environment: Environment, write?: (line: string) => void): Log {
  const wanted = environment[variables.logLevel]?.toLowerCase()
  const level: LogLevel = logLevels.find((known) => known === wanted) ?? 'info'
  const service = serviceIn(environment)
  return createLog({ level, service, ...(write !== undefined && { write }) })
}

/** The log of an invocation whose context may say what it wants to see. */
export function logsOf(environment: Environment): (context: InvocationContext) => Log {
  const usual = logOf(environment)
  const service = serviceIn(environment)
  const ofTests = new Map(
    logLevels.map((level) => [level, createLog({ level, service, metrics: 'with-their-line' })]),
  )
  return ({ logLevel }) => (logLevel === undefined ? usual : (ofTests.get(logLevel) ?? usual))
}

const serviceIn = (environment: Environment): string => environment[variables.service] || 'PushPop'

/** What a log may say about an error. It leaves out other properties, in which the SDK keeps stored items. */
export function describeError(error: unknown, depth = 0): Fields {
  if (!(error instanceof Error)) return { name: typeof error }
  const { cause } = error
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(cause !== undefined && depth < 3 && { cause: describeError(cause, depth + 1) }),
  }
}

/** What we use of Lambda's context. Not the type of `aws-lambda`: users need not install that package. */
export type InvocationContext = {
  readonly awsRequestId?: string
  getRemainingTimeInMillis?(): number
  /** A test's clock (`fakeContext` of `pushpop/testing`). Lambda passes none: then we use the system's. */
  readonly clock?: Clock
  /** Which of our log lines a test wants to see (`fakeContext`, too). Without it, the environment decides. */
  readonly logLevel?: LogLevel
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

/** What a pop took, for the metrics: over the API and in a consumer alike, because one alarm reads both. */
export function countPopped(tally: Tally, outcome: PopOutcome): void {
  if (outcome.kind !== 'items') return
  tally.count('ItemsPopped', outcome.items.length)
  // An item for later has waited since it was due.
  const oldestMs = Math.min(...outcome.items.map(({ pushedAtMs, dueMs = pushedAtMs }) => dueMs))
  tally.most('OldestItemAge', Math.max(0, Date.now() - oldestMs) / 1000)
}

/** What background work gets. */
export type Run = {
  readonly tally: Tally
  readonly log: Log
  /** Until the platform stops us; far off where there is no platform. */
  remainingMs(): number
}

type Report<A> = {
  readonly answer: A
  /** What the run did, for its log line. */
  readonly fields: Fields
  /** A later run has to do something again. */
  readonly failed: boolean
}

/** Writes one log line a run, with its metrics, even if it fails. */
export function backgroundHandler<E, A>(
  name: FunctionName | OptionalFunctionName,
  log: Log,
  work: (event: E, run: Run) => Promise<Report<A>>,
): (event: E, context?: InvocationContext) => Promise<A> {
  return (event, context = {}) => {
    const tally = new Tally()
    const durationMs = stopwatch()
    const finish = (level: 'info' | 'warn' | 'error', fields: Fields): void => {
      const used = {
        request_id: context.awsRequestId,
        function: name,
        duration_ms: durationMs(),
        ...usageOf(tally),
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    const remainingMs = remainingMsOf(context)
    return withTally(tally, async () => {
      try {
        const { answer, fields, failed } = await work(event, { tally, log, remainingMs })
        finish(failed ? 'warn' : 'info', fields)
        return answer
      } catch (error) {
        finish('error', { error: describeError(error) })
        throw error
      }
    })
  }
}
