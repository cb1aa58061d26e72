// What a function writes: its text as it is, of its log the warnings and errors, and what it threw.

import { type FunctionOutput, parseLine } from '../functions/function-output.ts'
import type { LogLine } from '../functions/messages.ts'
import { isObject } from '../template/assembly.ts'
import { clockTime } from './lines.ts'
import { type Paint, printable } from './paint.ts'

const LINE_CHARACTERS_MAX = 2_000

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
  const weight = json && weightOf(json.level)
  // What is on stderr and has no level is no routine: somebody wanted it to be seen.
  if (!json || (stream === 'stderr' && weight === undefined)) {
    const error = thrownIn(text)
    if (error) return `${name} ${paint('red', error)}`
    if (isOthersFrame(text)) return undefined
    const shown = printable(inProject(text.slice(0, LINE_CHARACTERS_MAX)))
    return `${name} ${stream === 'stderr' ? paint('yellow', shown) : shown}`
  }
  if (weight !== 'warning' && weight !== 'error') return undefined
  // We print a separate line for the request, with its status and code.
  if (json.message === 'request') return undefined
  return `${name} ${paint(weight === 'error' ? 'red' : 'yellow', logLine(json))}`
}

const WARN = 40
const ERROR = 50

/** The levels of our own log, Powertools, winston and console, in any case, and the numbers of pino and bunyan. */
function weightOf(level: unknown): 'routine' | 'warning' | 'error' | undefined {
  if (typeof level === 'number') {
    if (level >= ERROR) return 'error'
    return level >= WARN ? 'warning' : 'routine'
  }
  if (typeof level !== 'string') return undefined
  switch (level.toLowerCase()) {
    case 'warn':
    case 'warning':
      return 'warning'
    case 'error':
    case 'fatal':
    case 'critical':
      return 'error'
    default:
      return 'routine'
  }
}

/** `Cannot ship order=17 error=TypeError: no such order (at src/ship.ts:3:7)` */
function logLine(json: LogLine): string {
  const { message, msg = '' } = json
  // pino repeats the message of an error that is logged without a sentence.
  const said = isObject(json.err) && json.err.message === msg ? '' : msg
  const text = message ?? said
  return `${printable(typeof text === 'string' ? text : JSON.stringify(text))} ${fieldsOf(json)}`.trim()
}

/** Metrics, and fields that every line of a logger has, say nothing about this one. */
const routine = new Set([
  ...['level', 'message', 'msg', '_aws', 'cold_start'],
  ...['function', 'invocation_id'],
  // Those of pino and bunyan.
  ...['time', 'pid', 'hostname', 'v'],
  // Those of Powertools.
  ...['timestamp', 'service', 'sampling_rate', 'xray_trace_id'],
  ...['function_arn', 'function_memory_size', 'function_name', 'function_request_id'],
])

function fieldsOf(json: LogLine): string {
  return Object.entries(json)
    .filter(([name]) => !routine.has(name) && !/^[A-Z]/.test(name))
    .map(([name, value]) => `${name}=${describe(value)}`)
    .join(' ')
    .slice(0, LINE_CHARACTERS_MAX)
}

/** An error as its message, with the place that threw it. pino calls an error's name `type`. */
function describe(value: unknown): string {
  if (!isObject(value) || typeof value.message !== 'string') {
    return printable(typeof value === 'string' ? value : JSON.stringify(value))
  }
  const place = placeIn(String(value.stack ?? ''))
  const cause = value.cause === undefined ? '' : ` because ${describe(value.cause)}`
  const name = value.name ?? value.type ?? 'Error'
  return printable(`${name}: ${value.message}${place ? ` (${place})` : ''}`) + cause
}

/** The first frame in the user's own files, if there is one. */
function placeIn(stack: string): string | undefined {
  const frames = [...stack.matchAll(/\n\s+(at .*)/g)].map(([, frame = '']) => inProject(frame))
  return frames.find((frame) => !/\bnode:|\bnode_modules\//.test(frame)) ?? frames[0]
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
    .filter((line) => /^\s+at /.test(line) && !isOthersFrame(line))
    .slice(0, FRAMES_MAX)
    .map((line) => `\n    ${printable(inProject(line.trim()))}`)
  const does = kind === 'Init' ? 'does not start: ' : ''
  return `${does}${printable(`${errorType}: ${errorMessage}`)}${frames.join('')}`
}

/** A line of a stack that is in Node or in the local stack. Not the last one before an error's fields: it opens them. */
const isOthersFrame = (line: string): boolean =>
  /^\s+at .*(?:node:internal|\/runner\.mjs).*[\d)]$/.test(line)

/**
 * Source maps name files from where the app runs, below the folder that the bundle is in. A file outside of the
 * project, such as a package of the workspace, comes out some folders higher.
 */
const inProject = (text: string): string =>
  text.replace(
    /(?:file:\/\/)?\/[^\s()]*\/(?:asset\.[\da-f]{64}|watch-\d+-[\da-f-]{36}|node_modules\/\.cache(?:\/pushpop)?)\//g,
    '',
  )
