// A stack may run for days, while other starts of the same project delete what nobody seems to have used for a day
// (synthesise-app.ts). A function that is called later, or again, must still find its code.

import { utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FunctionPlan } from '../template/plan-functions.ts'

/** A day has room for some that come late, because the machine slept. */
const EVERY_MS = 3_600_000

/** Marks the folders of the code that runs as used, now and then. Returns what ends that. */
export function keepCode(plans: () => readonly FunctionPlan[], everyMs = EVERY_MS): () => void {
  const timer = setInterval(() => {
    const now = new Date()
    // An assembly has a folder for each function; a bundle of `--watch` stands by itself.
    const folders = plans().flatMap(({ codeDirectory }) => [codeDirectory, dirname(codeDirectory)])
    // One that is gone, or not ours, is as it is.
    for (const folder of new Set(folders)) utimes(folder, now, now).catch(() => {})
  }, everyMs).unref()
  return () => clearInterval(timer)
}
