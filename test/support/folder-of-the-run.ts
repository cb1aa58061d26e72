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
  return () => rmSync(folder, { recursive: true, force: true })
}
