// A file that lines are added to. A write resolves only when the lines are safely on the disk.

import { type FileHandle, open, stat } from 'node:fs/promises'
import { failed, hasCode, wrongUsage } from '../failure.ts'

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
