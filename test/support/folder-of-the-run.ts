// A folder for what test files leave, removed when all of them are through: a process works many
// files, so nothing that they share may go with the first.

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
