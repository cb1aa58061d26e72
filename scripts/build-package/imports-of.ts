import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The files of ours that a compiled file or a declaration imports, as the compiler writes that. */
export function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()["'](\.[^"']+)["']/g)
  return [...found].map(([, path = '']) => resolve(dirname(file), path))
}

export const declarationOf = (file: string): string => file.replace(/\.js$/, '.d.ts')

/** All compiled files that these entries lead to, with their code or with their types; or as `by` says. */
export function reachedFrom(
  entries: readonly string[],
  by = (file: string) => [file, declarationOf(file)],
): ReadonlySet<string> {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const one of by(file)) if (existsSync(one)) importsOf(one).forEach(visit)
  }
  entries.forEach(visit)
  return reached
}
