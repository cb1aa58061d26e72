import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

const sourceEndings = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json'])
/** Installed packages stand for themselves in the lock file. */
const elsewhere = new Set(['node_modules', 'cdk.out', 'coverage'])

export type HashedProject = {
  readonly root: string
  /** What else determines the result, such as the app and its context. */
  readonly more: readonly string[]
  /** Folders and files that are no sources. */
  readonly except?: readonly string[] | undefined
  /** An app that is not ours may read any file: the others count by their size and time. */
  readonly isForeign?: boolean | undefined
}

/**
 * A hash of everything in a project that its CDK app could be made of: every source, whether the app reads
 * it or not, because finding out would take as long as running the app.
 */
export function hashSources({ root, more, except, isForeign = false }: HashedProject): string {
  const hash = createHash('sha256')
  for (const text of more) hash.update(`${text.length}:${text}`)
  for (const path of filesOf(root, except)) {
    if (isSource(path)) {
      const content = ifThere(() => readFileSync(join(root, path)))
      if (content) hash.update(`${path}:${content.length}:`).update(content)
    } else if (isForeign) {
      hash.update(`${path}:${stampOf(join(root, path))}:`)
    }
  }
  return hash.digest('hex').slice(0, 32)
}

export const isSource = (path: string): boolean => sourceEndings.has(extname(path))

/** Changes whenever the file is written; empty if there is no such file. */
export function stampOf(file: string): string {
  const stat = ifThere(() => statSync(file))
  return stat ? `${stat.mtimeMs} ${stat.size}` : ''
}

/** An editor's temporary file may be gone by now. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Relative to the root, without what is in folders of tools. */
export function* filesOf(
  root: string,
  except: readonly string[] = [],
  folder = '',
): Generator<string> {
  const entries = ifThere(() => readdirSync(join(root, folder), { withFileTypes: true })) ?? []
  // In one order on every machine and every day.
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (except.includes(join(root, path))) continue
    if (entry.isFile()) yield path
    // Dot folders are tools', and the data of `npm start`.
    if (!entry.isDirectory() || entry.name.startsWith('.') || elsewhere.has(entry.name)) continue
    yield* filesOf(root, except, path)
  }
}
