// What passes between the stack and a function's process. Events and answers travel as text of JSON, as they do in
// Lambda: made once, read once, and cheap for the channel to copy (20 µs a call for a push, where objects take half as
// much again and large ones three times). What the function writes comes as lines.

import type { Readable } from 'node:stream'

export type Invocation = {
  readonly requestId: string
  readonly traceId: string
  readonly arn: string
  readonly deadlineMs: number
  readonly event: string
}

/** The process is killed then, whatever it has: an event has no more time than until then. */
export type Ending = { readonly endsAtMs: number }

export type Report =
  | { readonly kind: 'ready' }
  /** The code could not be loaded; `payload` as with `failed`. */
  | { readonly kind: 'broken'; readonly payload: string }
  | { readonly kind: 'answered'; readonly payload: string }
  /** The handler threw; `payload` is Lambda's JSON of an error. */
  | { readonly kind: 'failed'; readonly payload: string }

/** The outcome of an event. */
export type Outcome = (
  | { readonly kind: 'answered'; readonly payload: string }
  | {
      readonly kind: 'failed'
      readonly payload: string
      /** Somebody has killed the process, so its code has not failed, and nobody works on the event any more. */
      readonly wasKilled?: true
    }
  /** Nothing has failed: too many events wait already, the stack is stopping, or the function got new code meanwhile. */
  | { readonly kind: 'throttled' }
) & {
  /** What the function logged about it, if it logs one line of JSON for each request. */
  readonly summary?: LogLine | undefined
}

export type LogLine = Readonly<Record<string, unknown>>

export function failure(errorType: string, errorMessage: string): Outcome {
  return { kind: 'failed', payload: JSON.stringify({ errorType, errorMessage }) }
}

/** A line that a function wrote. */
export type FunctionOutput = {
  readonly functionId: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  /** The parsed line, if it is a JSON object. */
  readonly json?: LogLine | undefined
}

/** CloudWatch's longest event; the rest of a longer line is cut off. */
const CHARACTERS_MAX = 1_048_576

export function readLines(stream: Readable, take: (line: string) => void): void {
  let begun = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = text.split('\n')
    lines[0] = begun + lines[0]
    begun = (lines.pop() ?? '').slice(0, CHARACTERS_MAX)
    for (const line of lines) if (line !== '') take(line)
  })
  stream.on('end', () => {
    if (begun !== '') take(begun)
    begun = ''
  })
}

export function parseLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as LogLine
  } catch {
    return undefined
  }
}
