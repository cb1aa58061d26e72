import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { importsOf } from './imports-of.ts'

/**
 * The compiler declares every file that it compiles. We delete the declarations that no entry's types lead
 * to, since nobody can use them: all of the command line's, and nearly all of the engine's.
 */
export function pruneDeclarations(dist: string, entries: readonly string[]): void {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const imported of importsOf(file)) visit(imported.replace(/\.ts$/, '.d.ts'))
  }
  for (const entry of entries) visit(resolve(entry))
  for (const path of globSync('**/*.d.{ts,mts}', { cwd: dist })) {
    if (!reached.has(join(dist, path))) rmSync(join(dist, path))
  }
}

/** The compiler leaves `./queues.ts` in a declaration; TypeScript before 5 finds only `./queues.js`. */
export function nameScriptsInDeclarations(dist: string): void {
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    const text = readFileSync(join(dist, path), 'utf8')
    const named = text.replaceAll(/((?:from |import |import\()["']\.[^"']+)\.ts(["'])/g, '$1.js$2')
    writeFileSync(join(dist, path), named)
  }
}
