// Lines from a file or from stdin, as their bytes arrive. Hides encodings, line ends and chunks; an input may be
// endless, a line may not. Ctrl-C ends the wait for a line that may never come.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { ITEM_BYTES_MAX } from '../../engine/core/limits.ts'
import type { Io } from '../command.ts'
import { failed, wrongUsage } from '../failure.ts'

type Input = {
  readonly name: string
  /** For the progress; a pipe has none. */
  readonly bytes: number | undefined
  lines(): AsyncGenerator<Line>
}

/** `-` and nothing at all mean stdin, if something is there to read. */
export async function openInput(command: string, file: string | undefined, io: Io): Promise<Input> {
  if (file === undefined || file === '-') {
    if (io.stdin.isTTY && file === undefined) {
      throw wrongUsage(
        `Cannot ${command} because there is no item, no --file, and nothing comes from stdin; ` +
          `see: pushpop help ${command}`,
      )
    }
    return { name: 'stdin', bytes: undefined, lines: () => untilInterrupted(io.stdin, io) }
  }
  const { size, isDirectory } = await sizeOf(file)
  if (isDirectory) throw wrongUsage(`Cannot read ${file} because it is a folder`)
  return {
    name: file,
    bytes: size,
    async *lines() {
      const stream = createReadStream(file)
      try {
        yield* readLines(stream)
      } catch (error) {
        throw error instanceof Error && 'syscall' in error ? cannotRead(file, error) : error
      } finally {
        stream.destroy()
      }
    },
  }
}

async function sizeOf(file: string) {
  try {
    const found = await stat(file)
    return { size: found.isFile() ? found.size : undefined, isDirectory: found.isDirectory() }
  } catch (error) {
    throw cannotRead(file, error)
  }
}

/** Ctrl-C ends the wait for a line that may never come. */
async function* untilInterrupted(stdin: Readable, { interrupt }: Io): AsyncGenerator<Line> {
  const end = () => stdin.destroy()
  interrupt.addEventListener('abort', end)
  try {
    if (interrupt.aborted) return
    yield* readLines(stdin)
  } catch (error) {
    if (!interrupt.aborted) throw error
  } finally {
    interrupt.removeEventListener('abort', end)
  }
}

export type Line = {
  readonly text: string
  /** Counted from 1. */
  readonly number: number
  /** Where the line begins in the input, in bytes. */
  readonly offset: number
}

/** The longest line of ours: an item, with id and times around it. A longer line is not an item. */
export const LINE_BYTES_MAX = ITEM_BYTES_MAX + 4_096

const NEWLINE = 0x0a

/** Lines with something in them, as bytes arrive: an input may be endless, a line may not. */
export async function* readLines(input: Readable): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  let number = 0
  for await (const chunk of input) {
    rest = rest.length === 0 ? asBuffer(chunk) : Buffer.concat([rest, asBuffer(chunk)])
    let from = 0
    for (let to = rest.indexOf(NEWLINE); to >= 0; to = rest.indexOf(NEWLINE, from)) {
      number += 1
      const line = lineOf(rest.subarray(from, to), number, offset + from)
      if (line !== undefined) yield line
      from = to + 1
    }
    rest = rest.subarray(from)
    offset += from
    if (rest.length > LINE_BYTES_MAX) throw tooLong(number + 1)
  }
  const last = lineOf(rest, number + 1, offset)
  if (last !== undefined) yield last
}

const asBuffer = (chunk: unknown): Buffer =>
  typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function lineOf(bytes: Buffer, number: number, offset: number): Line | undefined {
  if (bytes.length > LINE_BYTES_MAX) throw tooLong(number)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw badLine(number, 'it is not UTF-8')
  }
  // Editors on Windows begin a file with a mark and end lines with two characters.
  if (number === 1 && text.startsWith('\ufeff')) text = text.slice(1)
  if (text.endsWith('\r')) text = text.slice(0, -1)
  return text.trim() === '' ? undefined : { text, number, offset }
}

const tooLong = (number: number) =>
  badLine(
    number,
    `it is longer than ${LINE_BYTES_MAX} bytes, and an item has ${ITEM_BYTES_MAX} at most`,
  )

/** The input is wrong there; the caller adds what had been pushed by then. */
export class BadLine extends Error {
  readonly number: number

  constructor(number: number, reason: string) {
    super(reason)
    this.name = 'BadLine'
    this.number = number
  }
}

export const badLine = (number: number, reason: string): BadLine => new BadLine(number, reason)

export const cannotRead = (file: string, error: unknown) => {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
  const why = isMissing ? 'there is no such file' : (error as Error).message
  return failed(`Cannot read ${file} because ${why}`, error)
}
