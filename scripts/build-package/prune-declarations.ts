import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/**
 * The compiler declares every file that it compiles. We delete the declarations that no entry's types lead
 * to, since nobody can use them: all of the command line's, and nearly all of the engine's.
 */
export function pruneDeclarations(dist: string, entries: readonly string[]): void {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const imported of importsOf(file)) visit(imported)
  }
  for (const entry of entries) visit(resolve(entry))
  for (const path of globSync('**/*.d.{ts,mts}', { cwd: dist })) {
    if (!reached.has(join(dist, path))) rmSync(join(dist, path))
  }
}

/** `from './queues.ts'` and `import('./queues.ts')`, as the compiler writes them into declarations. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from |import\()["'](\.[^"']+)\.ts["']/g)
  return [...found].map(([, path]) => resolve(dirname(file), `${path}.d.ts`))
}
