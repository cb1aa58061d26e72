// What `npm start` prints: the banner; a line for each request and each notice; and what functions write, of their log
// the warnings and errors only.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type FunctionOutput, type LogLine, parseLine } from '../functions/messages.ts'
import type { RequestRecord } from '../gateway/gateway.ts'
import type { LocalStack } from '../start-local-stack.ts'
import type { StoreEndpoints } from '../stores/store-api.ts'
import { pushPop } from '../synthesis/synthesise-app.ts'
import { isObject } from '../template/assembly.ts'
import { type RoutePlan, SERVICE_ROUTE } from '../template/plan-api.ts'
import type { EventRulePlan } from '../template/plan-sources.ts'
import type { Typed } from './start-options.ts'
import { type Colour, clockTime, type Paint, printable } from './terminal.ts'

type BannerSettings = Pick<LocalStack, 'url' | 'urls' | 'plan'> & {
  readonly seconds: number
  readonly typed: Typed
  /** The path as you would type it; absent if the data is temporary. */
  readonly directory?: string | undefined
  /** Stores that somebody else has started. */
  readonly elsewhere: Partial<StoreEndpoints>
  /** Another app in this folder, and how to run it. */
  readonly appHere?: string | undefined
  /** As typed. */
  readonly envFile?: string | undefined
}

/** The address, lines to paste, and where the data is; the README has the rest. */
export function banner(
  { url, urls, plan, seconds, typed, directory, elsewhere, appHere, envFile }: BannerSettings,
  paint: Paint,
): string {
  const lines = [
    `${paint('bold', `PushPop is at ${url}`)}  ${paint('dim', `(started in ${seconds.toFixed(1)} s)`)}`,
    '',
    ...tryLines(url, plan),
    ...plan.apis
      .slice(1)
      .flatMap(({ name, routes }) => ['', `${name} is at ${urls[name]}`, ...routesOf(routes)]),
    '',
    whereDataIs({ directory, typed, elsewhere }),
    ...(envFile === undefined
      ? []
      : [
          `${envFile} says where the table and the bucket are: \`. ${sourced(envFile)}\` in a shell.`,
        ]),
    ...plan.leftOut,
    ...(appHere === undefined ? [] : [appHere]),
    'Ctrl-C ends it.',
  ]
  return `${lines.join('\n')}\n`
}

function whereDataIs({
  directory,
  typed,
  elsewhere: { dynamodbEndpoint: tables, s3Endpoint: objects },
}: Pick<BannerSettings, 'directory' | 'typed' | 'elsewhere'>): string {
  const there = [
    ...(tables ? [`tables at ${tables}`] : []),
    ...(objects ? [`objects at ${objects}`] : []),
  ]
  if (there.length === 0) {
    return directory === undefined
      ? 'Data is forgotten at the end.'
      : `Data is kept in ${directory}; ${typed} --memory forgets it.`
  }
  if (directory === undefined) {
    return `Data is forgotten at the end: that includes the ${there.join(' and the ')}.`
  }
  const here = [...(tables ? [] : ['tables']), ...(objects ? [] : ['objects']), 'messages']
  return (
    `${here.join(' and ').replace(/^./, (first) => first.toUpperCase())} are kept in ${directory}, ` +
    `the ${there.join(' and the ')} as long as they last there; they belong together.`
  )
}

/** A shell looks for a bare name among its commands. */
const sourced = (file: string): string => (file.includes('/') ? file : `./${file}`)

/** A push, a look and, if no consumer does it, a pop; for another app's API, its routes. */
function tryLines(url: string, { apis, eventRules }: LocalStack['plan']): readonly string[] {
  const routes = apis[0]?.routes ?? []
  if (!routes.some(({ key }) => key === SERVICE_ROUTE)) return routesOf(routes)
  const worked = workedQueue(eventRules)
  const queue = `${url}/queue/${encodeURIComponent(worked ?? 'orders')}`
  // We do not know what a consumer takes: with any item of ours its first run might fail.
  const item = worked === undefined ? '{"order":17}' : 'ITEM'
  return [
    `  curl -X POST ${queue}/push -H 'content-type: application/json' -d '{"item":${item}}'`,
    ...(worked === undefined ? [] : ['  (for ITEM, write one that your consumer understands)']),
    `  curl ${queue}`,
    // A pop would take the item from under the consumer, or find nothing.
    ...(worked === undefined ? [`  curl -X POST ${queue}/pop`] : []),
  ]
}

/** One that a consumer of the app works: what is pushed there shows that it does. */
function workedQueue(rules: readonly EventRulePlan[]): string | undefined {
  for (const { detail } of rules.map(({ pattern }) => pattern)) {
    const matchers = isObject(detail) && Array.isArray(detail.queue) ? detail.queue : []
    for (const matcher of matchers) {
      if (typeof matcher === 'string') return matcher
      if (isObject(matcher) && typeof matcher.prefix === 'string') return `${matcher.prefix}1`
    }
  }
  return undefined
}

const routesOf = (routes: readonly RoutePlan[]): string[] => routes.map(({ key }) => `  ${key}`)

/** Says what to type if the folder has a cdk.json, and its app is not PushPop's own. */
export function appHere(folder: string, typed: Typed): string | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, 'cdk.json'), 'utf8')
  } catch {
    return undefined
  }
  const file = fileIn(text)
  if (file !== undefined && resolve(folder, file) === resolve(pushPop)) return undefined
  return `PushPop runs alone, without the app in cdk.json; ${typed} --app ${file ?? 'FILE'} runs that one.`
}

/** The last file of JavaScript or TypeScript that `app` names: `npx tsx bin/app.ts`. */
function fileIn(text: string): string | undefined {
  let settings: unknown
  try {
    settings = JSON.parse(text)
  } catch {
    return undefined
  }
  const command = isObject(settings) ? settings.app : undefined
  if (typeof command !== 'string') return undefined
  return command.split(/[\s'"]+/).findLast((word) => /\.[cm]?[jt]s$/.test(word))
}

const PATH_CHARACTERS_MAX = 120

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

function colourOf(status: number): Colour {
  if (status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}

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
