// docs/package.md: in a copy of an example, the comment beside an import says what to import instead.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const entries = packageJson.exports as Readonly<Record<string, { import?: { default: string } }>>

/** `lib/index.ts` of `pushpop`, and what it exports as a whole. */
function sourceOf(entry: string): string {
  const built = entries[entry.replace(/^pushpop/, '.')]?.import?.default
  if (built === undefined) return ''
  const path = built.replace('./dist/', '').replace(/\.js$/, '.ts')
  const source = read(path)
  const others = [...source.matchAll(/^export (?:type )?\* from '(.+)'/gm)]
  return source + others.map(([, other = '']) => read(join(dirname(path), other))).join('')
}

it.each(globSync('examples/*/*.ts', { cwd: root }).sort())(
  'Beside each import of %s from this repository stands the entry that has the same names.',
  (path) => {
    const imports = [...read(path).matchAll(/^import (?:type )?\{(.*)\} from '\.\.\/\.\..*$/gm)]
    for (const [line, names = ''] of imports) {
      const entry = / \/\/ '(pushpop[a-z/-]*)'$/.exec(line)?.[1] ?? `no entry in: ${line}`
      const source = sourceOf(entry)
      const missing = names
        .split(',')
        .map((name) => name.replace('type ', '').trim())
        .filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
      expect({ entry, missing }).toEqual({ entry, missing: [] })
    }
    expect(imports).toHaveLength(read(path).split(" from '../../").length - 1)
  },
)
