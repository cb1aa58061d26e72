import { execFile } from 'node:child_process'
import { extname, join } from 'node:path'
import { StartError } from '../start-error.ts'
import type { BundledFrom } from '../template/plan-functions.ts'

export type RebuildRequest = Pick<BundledFrom, 'entry' | 'bundling'> & {
  readonly outdir: string
  /** The folder of the bundle that runs now. */
  readonly before: string
}

/** JavaScript in the package. */
const script = join(import.meta.dirname, `rebuild${extname(import.meta.filename)}`)

/** A handler takes half a second; this is for a machine that is busy with much else. */
const REBUILD_MS_MAX = 60_000

/** Returns the files that went into the bundle. `root`: the places in its source maps are relative to that. */
export async function runRebuild(
  root: string,
  request: RebuildRequest,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const options = { cwd: root, signal, timeout: REBUILD_MS_MAX }
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [script, JSON.stringify(request)],
      options,
      (error, stdout, stderr) => {
        if (error) reject(new StartError(stderr.trim() || error.message))
        else resolve(JSON.parse(stdout))
      },
    )
  })
}
