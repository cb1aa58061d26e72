// The data folder, which only one stack may use, or a temporary one.
//
// dynoxide itself takes no lock, and two stacks would deliver the stream twice and trim it while the other still reads
// it. We use SQLite's lock on a separate file. The operating system drops it together with the process that holds it,
// however that process ends, so no lock is ever stale.

import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { cannotUse, StartError } from '../start-error.ts'

export type Owner = { readonly pid: number; readonly url: string }

/**
 * The process of the stores holds the lock. It outlives a killed stack by the moment that it takes to stop
 * DynamoDB (2 s at most), so a new stack that finds the old one dead waits for it.
 */
const PATIENCE_MS = 10_000
const PAUSE_MS = 20

export async function lockFolder(directory: string, owner: Owner): Promise<void> {
  const ownerFile = join(directory, 'owner.json')
  const patientUntilMs = Date.now() + PATIENCE_MS
  while (!tryLock(join(directory, 'lock.sqlite'))) {
    const other = readOwner(ownerFile)
    if ((other === undefined || !isAlive(other.pid)) && Date.now() < patientUntilMs) {
      await delay(PAUSE_MS)
      continue
    }
    throw new StartError(
      `Cannot use the data folder ${directory} because another stack` +
        `${other ? ` (process ${other.pid}, ${other.url})` : ''} uses it; ` +
        'stop that one, or choose another folder with --data',
    )
  }
  writeFileSync(ownerFile, JSON.stringify(owner))
}

/** Held until this process ends: we never close the database, and it must not be garbage-collected. */
const held: DatabaseSync[] = []

function tryLock(file: string): boolean {
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    held.push(database)
    return true
  } catch (error) {
    database.close()
    const { errcode } = error as { errcode?: number }
    if (errcode === SQLITE_BUSY) return false
    throw cannotUse(file, error)
  }
}

const SQLITE_BUSY = 5

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner
  } catch {
    // The file is not written yet, or a kill cut it off.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Linux's file system in memory. */
const MEMORY = '/dev/shm'
/** A container's usual 64 MB would be full after some thousand items. */
const MEMORY_BYTES_MIN = 2 ** 31

type TemporaryFolderOptions = {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly memory?: string | undefined
  readonly memoryBytesMin?: number | undefined
}

/**
 * Makes a folder for data that is deleted at the end: in memory if there is enough of it, unless TMPDIR names a place.
 * dynoxide syncs each write to the disk. Temporary data does not need that, and a disk that is busy with something else
 * takes seconds for it, so that requests time out. Memory does not.
 */
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
