import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

const sourceEndings = new Set(['.ts', '.mts', '.js', '.mjs', '.cjs', '.json'])
/** Installed packages stand for themselves in the lock file. */
const elsewhere = new Set(['node_modules', 'cdk.out', 'coverage'])

/**
 * A hash of everything in a project that its CDK app could be made of: every source, whether the app reads
 * it or not, because finding out would take as long as running the app. Without the folder `except`.
 */
export function hashSources(root: string, more: readonly string[], except?: string): string {
  const hash = createHash('sha256')
  for (const text of more) hash.update(`${text.length}:${text}`)
  for (const path of sourcesOf(root, except)) {
    const content = readIfThere(join(root, path))
    if (content) hash.update(`${path}:${content.length}:`).update(content)
  }
  return hash.digest('hex').slice(0, 32)
}

/** An editor's temporary file may be gone by now. */
function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function* sourcesOf(root: string, except: string | undefined, folder = ''): Generator<string> {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  // In one order on every machine and every day.
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    // Dot folders are tools', and the data of `npm start`.
    if (entry.name.startsWith('.') || elsewhere.has(entry.name)) continue
    const path = join(folder, entry.name)
    if (join(root, path) === except) continue
    if (entry.isDirectory()) yield* sourcesOf(root, except, path)
    else if (entry.isFile() && sourceEndings.has(extname(entry.name))) yield path
  }
}
