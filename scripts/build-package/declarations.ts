import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reachedDeclarations } from './reached-declarations.ts'

/**
 * The compiler declares every file that it compiles. We keep what the entries' types lead to, and nothing else:
 * nobody could use the rest, which is all of the command line's, and nearly all of the engine's.
 */
export function pruneDeclarations(dist: string, entries: readonly string[]): void {
  const kept = reachedDeclarations(entries.map((entry) => resolve(entry)))
  for (const path of globSync('**/*.d.{ts,mts}', { cwd: dist })) {
    const file = join(dist, path)
    const text = kept.get(file)
    if (text === undefined) rmSync(file)
    else writeFileSync(file, text)
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
