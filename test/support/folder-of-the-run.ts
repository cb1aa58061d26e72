// A folder for what test files leave behind, removed when all have finished: one process runs many files,
// so the first must not remove what they share.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    readonly folderOfTheRun: string
  }
}

export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'pushpop-tests-'))
  provide('folderOfTheRun', folder)
  // A run starts hundreds of processes, which load much the same: each but the first finds it compiled.
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compile-cache')
  return () => rmSync(folder, { recursive: true, force: true })
}
