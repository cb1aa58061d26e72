// One line for each request, and one for each warning or error that a function logs.

import { type FunctionOutput, parseLine } from '../functions/function-output.ts'
import type { LogLine } from '../functions/messages.ts'
import type { RequestRecord } from '../gateway/gateway.ts'
import { isObject } from '../template/assembly.ts'
import { type Colour, type Paint, printable } from './paint.ts'

const PATH_CHARACTERS_MAX = 120
const LINE_CHARACTERS_MAX = 2_000

/** `10:04:12  POST   /queue/orders/push  200  12 ms  2 WRU` */
export function requestLine(request: RequestRecord, paint: Paint): string {
  const { atMs, method, path, status, durationMs, summary, otherPort } = request
  const shown = path.length > PATH_CHARACTERS_MAX ? `${path.slice(0, PATH_CHARACTERS_MAX)}…` : path
  const code = summary?.error_code
  return [
    paint('dim', clockTime(atMs)),
    method.padEnd(4),
    otherPort === undefined ? printable(shown) : `:${otherPort}${printable(shown)}`,
    paint(
      colourOf(status),
      typeof code === 'string' ? `${status} ${printable(code)}` : `${status}`,
    ),
    `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`,
    ...(summary ? [paint('dim', unitsOf(summary))] : []),
  ]
    .filter((part) => part !== '')
    .join('  ')
}

const REPEATED_WITHIN_MS = 2_000
const SHOWN_IN_A_ROW = 4

/**
 * Whether a request is to be shown: a consumer that polls would hide all other lines. After some equal GETs, each
 * within two seconds of the one before, it says so and shows no more of them until one comes later, or fails.
 */
export function withoutRepeated(): (request: RequestRecord) => 'show' | 'show-the-last' | 'hide' {
  const rows = new Map<string, { atMs: number; inARow: number }>()
  return ({ atMs, method, path, status, otherPort }) => {
    if (method !== 'GET' || status !== 200) return 'show'
    const name = `${otherPort ?? ''}${path}`
    for (const [other, row] of rows) if (atMs - row.atMs > REPEATED_WITHIN_MS) rows.delete(other)
    const inARow = (rows.get(name)?.inARow ?? 0) + 1
    rows.set(name, { atMs, inARow })
    if (inARow > SHOWN_IN_A_ROW) return 'hide'
    return inARow === SHOWN_IN_A_ROW ? 'show-the-last' : 'show'
  }
}

/** What the request cost: write and read units of DynamoDB, and requests to S3. */
function unitsOf(summary: LogLine): string {
  const units = [
    [summary.write_units, 'WRU'],
    [summary.read_units, 'RRU'],
    [summary.s3_requests, 'S3'],
  ]
  return units
    .filter(([amount]) => typeof amount === 'number' && amount > 0)
    .map(([amount, name]) => `${amount} ${name}`)
    .join(', ')
}

/** `10:04:12  Rebuilt Ship from ship.ts in 0.4 s.` */
export const noticeLine = (sentence: string, paint: Paint, atMs = Date.now()): string =>
  `${paint('dim', clockTime(atMs))}  ${paint('yellow', sentence)}`

/**
 * `10:04:12  [Ship] sent 17`; `undefined` for a function's routine log lines, which nobody needs to see here.
 */
export function outputLine(
  output: FunctionOutput,
  paint: Paint,
  atMs = Date.now(),
): string | undefined {
  const { functionId, text, json, stream } = output
  const name = paint('dim', `${clockTime(atMs)}  [${functionId}]`)
  if (!json) {
    const error = thrownIn(text)
    if (error) return `${name} ${paint('red', error)}`
    const shown = printable(text.slice(0, LINE_CHARACTERS_MAX))
    return `${name} ${stream === 'stderr' ? paint('yellow', shown) : shown}`
  }
  const { level } = json
  if (level !== 'warn' && level !== 'error') return undefined
  // We print a separate line for the request, with its status and code.
  if (json.message === 'request') return undefined
  const shown = `${printable(String(json.message))} ${fieldsOf(json)}`.trimEnd()
  return `${name} ${paint(level === 'error' ? 'red' : 'yellow', shown)}`
}

/** Enough to find the line; the function's own frames come first. */
const FRAMES_MAX = 5

/** For a function that throws or does not start: the runtime's message, and the places in the function's own files. */
function thrownIn(text: string): string | undefined {
  const [, kind, payload = ''] = /^(Init|Invoke) Error (\{.*\})$/.exec(text) ?? []
  const error = kind === undefined ? undefined : parseLine(payload)
  if (error === undefined) return undefined
  const { errorType, errorMessage, trace } = error
  const frames = (Array.isArray(trace) ? trace.map(String) : [])
    .filter((line) => /^\s+at /.test(line) && !/node:internal|\/runner\.mjs/.test(line))
    .slice(0, FRAMES_MAX)
    .map((line) => `\n    ${printable(inProject(line.trim()))}`)
  const does = kind === 'Init' ? 'does not start: ' : ''
  return `${does}${printable(`${errorType}: ${errorMessage}`)}${frames.join('')}`
}

/** Source maps name files from where the app runs, below the folder that the bundle is in. */
const inProject = (frame: string): string =>
  frame.replace(/(?:file:\/\/)?\/[^\s()]*\/(?:asset\.[\da-f]{64}|watch-\d+-[\da-f-]{36})\//g, '')

/** Metrics, and fields that every line has, say nothing about this one. */
const routine = new Set(['level', 'message', 'function', 'invocation_id', 'cold_start', '_aws'])

function fieldsOf(json: LogLine): string {
  return Object.entries(json)
    .filter(([name]) => !routine.has(name) && !/^[A-Z]/.test(name))
    .map(([name, value]) => `${name}=${describe(value)}`)
    .join(' ')
    .slice(0, LINE_CHARACTERS_MAX)
}

/** An error as its message, with the place that threw it. */
function describe(value: unknown): string {
  if (!isObject(value) || typeof value.message !== 'string') {
    return printable(typeof value === 'string' ? value : JSON.stringify(value))
  }
  const place = /\n\s+(at .*)/.exec(String(value.stack ?? ''))?.[1]
  const cause = value.cause === undefined ? '' : ` because ${describe(value.cause)}`
  return (
    printable(`${value.name}: ${value.message}${place ? ` (${inProject(place)})` : ''}`) + cause
  )
}

function colourOf(status: number): Colour {
  if (status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}

/** In the time zone of this machine. */
function clockTime(ms: number): string {
  const time = new Date(ms)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
