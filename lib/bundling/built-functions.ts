// The functions as the package holds them. They are bundled when the package is built, because Node runs
// no TypeScript in `node_modules`, and so that a user of the construct does not need esbuild.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FunctionFiles } from './bundle.ts'

/** In the same folder as the files: which of them belong to which function. */
const LIST = 'functions.json'

type List = Readonly<Record<string, readonly string[]>>

/**
 * A file that several functions share is stored once: a folder for each function would hold the same
 * 700 KB eight times.
 */
export function writeBuiltFunctions(
  folder: string,
  functions: ReadonlyMap<string, FunctionFiles>,
): void {
  mkdirSync(folder, { recursive: true })
  const list: Record<string, string[]> = {}
  for (const [name, { files }] of functions) {
    list[name] = [...files.keys()].sort()
    for (const [file, contents] of files) writeFileSync(join(folder, keptAs(file, name)), contents)
  }
  writeFileSync(join(folder, LIST), `${JSON.stringify(list, undefined, 2)}\n`)
}

/** Nothing if there is no such folder: then this is the repository and not the package. */
export function readBuiltFunctions(folder: string): ReadonlyMap<string, FunctionFiles> | undefined {
  const list = readList(folder)
  if (list === undefined) return undefined
  const read = (name: string, file: string) => readFileSync(join(folder, keptAs(file, name)))
  return new Map(
    Object.entries(list).map(([name, files]) => [
      name,
      { files: new Map(files.map((file) => [file, read(name, file)])) },
    ]),
  )
}

function readList(folder: string): List | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as List
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Every function's own file is named `index.mjs`, so we keep it under the function's name; other names are unique. */
const keptAs = (file: string, name: string): string => (file === 'index.mjs' ? `${name}.mjs` : file)
