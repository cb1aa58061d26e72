import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The files of ours that a compiled file or a declaration imports, as the compiler writes that. */
export function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()["'](\.[^"']+)["']/g)
  return [...found].map(([, path = '']) => resolve(dirname(file), path))
}
