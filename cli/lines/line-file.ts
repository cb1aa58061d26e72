// A file that lines are added to, and what an earlier run left of one. A write resolves when its lines are on the disk.
// A run that was killed may leave half a line, lines of items that it had not acknowledged, or a note behind the file:
// each is cut off, left out or gone on from.

import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { failed, hasCode, wrongUsage } from '../failure.ts'
import { cannotRead } from './read-lines.ts'

export type LineFile = {
  readonly name: string
  /** Bytes so far. */
  readonly bytes: number
  /** Resolves when the lines are on the disk. */
  write(lines: readonly string[]): Promise<void>
  close(): Promise<void>
}

/**
 * A new file, or an empty one that a failed run left behind. A file with something in it belongs to
 * somebody and is not overwritten.
 */
export async function createLineFile(name: string, hint: string): Promise<LineFile> {
  try {
    return lineFileOn(name, await open(name, 'wx'), 0)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) {
      if (await isEmpty(name)) return reopenLineFile(name, 0)
      throw wrongUsage(`Cannot write ${name} because it is there already; ${hint}`)
    }
    throw cannotWrite(name, error)
  }
}

async function isEmpty(name: string): Promise<boolean> {
  const found = await stat(name)
  return found.isFile() && found.size === 0
}

/** Continues after `bytes`: what an interrupted run wrote beyond that is cut off. */
export async function reopenLineFile(name: string, bytes: number): Promise<LineFile> {
  try {
    const handle = await open(name, 'r+')
    await handle.truncate(bytes)
    return lineFileOn(name, handle, bytes)
  } catch (error) {
    throw cannotWrite(name, error)
  }
}

function lineFileOn(name: string, handle: FileHandle, from: number): LineFile {
  let bytes = from
  return {
    name,
    get bytes() {
      return bytes
    },
    async write(lines) {
      if (lines.length === 0) return
      const text = Buffer.from(`${lines.join('\n')}\n`)
      try {
        for (let at = 0; at < text.length; ) {
          const { bytesWritten } = await handle.write(text, at, text.length - at, bytes + at)
          at += bytesWritten
        }
        await handle.sync()
      } catch (error) {
        // Half a line would spoil the next run's first one. A full disk does not prevent this.
        await handle.truncate(bytes).catch(() => {})
        throw cannotWrite(name, error)
      }
      bytes += text.length
    },
    close: () => handle.close(),
  }
}

const cannotWrite = (name: string, error: unknown) =>
  failed(`Cannot write ${name} because of this: ${(error as Error).message}`, error)

type WrittenBefore = {
  /** Where the last whole line ends; anything after it was cut off in the middle. */
  readonly bytes: number
  /** Ids of the items in the last lines. */
  readonly ids: ReadonlySet<string>
}

/**
 * A batch that was written and not acknowledged is at the end of a file, and comes again: at most
 * 100 items and 4 MiB, details and the second form of some characters aside.
 */
const LOOK_BACK_BYTES = 16 * 1024 * 1024
const NEWLINE = 0x0a

/** What an earlier drain into this file left at its end. */
export async function writtenBefore(name: string): Promise<WrittenBefore | undefined> {
  let handle: Awaited<ReturnType<typeof open>>
  try {
    handle = await open(name, 'r')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw cannotRead(name, error)
  }
  try {
    const { size } = await handle.stat()
    const from = Math.max(0, size - LOOK_BACK_BYTES)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from)
    const end = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE) + 1
    const lines = buffer.toString('utf8', 0, end).split('\n')
    // The first of them may be the end of a line.
    const whole = from === 0 ? lines : lines.slice(1)
    return { bytes: from + end, ids: new Set(whole.flatMap(idIn)) }
  } finally {
    await handle.close()
  }
}

/** Only the line's own id counts, not one within the item. */
function idIn(line: string): string[] {
  try {
    const { id } = JSON.parse(line)
    return typeof id === 'string' ? [id] : []
  } catch {
    // We did not write this line, so it says nothing about any item.
    return []
  }
}

export type ExportProgress = {
  readonly queue: string
  readonly priority?: number | undefined
  /** The next page; absent while there was none. */
  readonly cursor?: string | undefined
  /** The length of the file up to the last whole page. */
  readonly bytes: number
  readonly items: number
}

export const progressFileOf = (file: string): string => `${file}.progress`

/** Renamed into place: a process that is killed leaves the old one or the new one, never half. */
export async function keepProgress(file: string, progress: ExportProgress): Promise<void> {
  const name = progressFileOf(file)
  await writeFile(`${name}.new`, `${JSON.stringify(progress)}\n`)
  await rename(`${name}.new`, name)
}

export const forgetProgress = (file: string): Promise<void> =>
  rm(progressFileOf(file), { force: true })

export async function readProgress(file: string): Promise<ExportProgress | undefined> {
  try {
    return JSON.parse(await readFile(progressFileOf(file), 'utf8')) as ExportProgress
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw wrongUsage(`Cannot resume because ${progressFileOf(file)} cannot be read; remove it`)
  }
}
