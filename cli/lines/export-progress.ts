// How far an export has come, noted beside the file that it writes, so that it can go on after it was cut off.

import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hasCode, wrongUsage } from '../failure.ts'

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
