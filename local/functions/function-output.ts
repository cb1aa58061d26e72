import type { Readable } from 'node:stream'
import type { LogLine } from './messages.ts'

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
