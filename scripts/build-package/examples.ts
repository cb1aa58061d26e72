// The examples as a project has them that installed the package: they import from it, and not from the folders of this
// repository. What to import instead stands beside each import: `// 'pushpop/client'`.

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const fromHere = /'\.\.\/\.\.\/[^']+' \/\/ ('pushpop[^']*')$/gm

export function writeExamples(from: string, to: string): void {
  for (const path of globSync('*/*.ts', { cwd: from })) {
    const code = readFileSync(join(from, path), 'utf8').replace(fromHere, '$1')
    const [left] = /'\.\.\/\.\.\/[^']+'/.exec(code) ?? []
    if (left !== undefined) {
      throw new Error(`examples/${path} imports ${left}, and no comment says what the package has`)
    }
    mkdirSync(join(to, dirname(path)), { recursive: true })
    writeFileSync(join(to, path), code)
  }
}
