// Where lines come from: a file, or stdin.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Io } from '../command.ts'
import { wrongUsage } from '../failure.ts'
import { cannotRead, type Line, readLines } from './read-lines.ts'

export type Input = {
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
