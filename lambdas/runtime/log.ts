import { METRIC_NAMESPACE, SERVICE_DIMENSION, metrics as units } from './metric-names.ts'
import type { Tally } from './tally.ts'

export const levels = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof levels)[number]

export type Fields = Readonly<Record<string, unknown>>

export type Log = {
  /** One line; fields that are undefined are left out. */
  write(level: Level, message: string, fields?: Fields): void
  /** The one line of an invocation, which carries its metrics as well. */
  invocation(level: Level, message: string, fields: Fields, tally: Tally, nowMs: number): void
}

type LogOptions = {
  readonly level: Level
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
  const isWanted = (line: Level): boolean => levels.indexOf(line) >= levels.indexOf(level)
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
