// Functions for the odd cases, as files that a process can load.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FunctionPlan } from '../../local/template/plan-functions.ts'

/** Writes the code of a function into a folder of its own, where Lambda would have it. */
export function writeCode(directory: string, id: string, code: string): string {
  const folder = join(directory, id)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.mjs'), code)
  return folder
}

export function aFunction(codeDirectory: string, change: Partial<FunctionPlan> = {}): FunctionPlan {
  return {
    id: 'Fn',
    name: 'Shop-Fn',
    arn: 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Fn',
    handler: 'index.handler',
    codeDirectory,
    environment: {},
    memoryMb: 128,
    timeoutMs: 10_000,
    asyncRetriesMax: 2,
    ...change,
  }
}
