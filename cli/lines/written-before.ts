import { open } from 'node:fs/promises'
import { hasCode } from '../failure.ts'
import { cannotRead } from './read-lines.ts'

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
