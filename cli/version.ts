import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** From the nearest package.json: beside cli/ in the repository, further up in the built package. */
export function version(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file))
      return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    if (folder === dirname(folder)) return 'unknown'
  }
}
