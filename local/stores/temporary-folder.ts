// Where the stores keep data that is deleted when they stop.
//
// dynoxide syncs each write to the disk. Temporary data does not need that, and a disk that is busy with
// something else takes seconds for it, so that requests time out. Memory does not.

import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Linux's file system in memory. */
const MEMORY = '/dev/shm'
/** A container's usual 64 MB would be full after some thousand items. */
const MEMORY_BYTES_MIN = 2 ** 31

type TemporaryFolderOptions = {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly memory?: string | undefined
  readonly memoryBytesMin?: number | undefined
}

/** Makes one: in memory if there is enough of it, unless TMPDIR names a place. */
export async function makeTemporaryFolder(options: TemporaryFolderOptions = {}): Promise<string> {
  const { environment = process.env, memory = MEMORY, memoryBytesMin = MEMORY_BYTES_MIN } = options
  if (!environment.TMPDIR && (await freeBytes(memory)) >= memoryBytesMin) {
    try {
      return await makeIn(memory)
    } catch {
      // We may not write there; the usual place will do.
    }
  }
  return makeIn(environment.TMPDIR || tmpdir())
}

const makeIn = (folder: string): Promise<string> => mkdtemp(join(folder, 'pushpop-embedded-'))

/** 0 where there is no such folder. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}
