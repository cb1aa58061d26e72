// Unpacks what `npm pack` made, where there is no `tar`.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

const BLOCK = 512

/** The files of a package's tarball; the folder `package`, in which npm puts them, is left out. */
export function unpack(tarball: string, into: string): void {
  const archive = gunzipSync(readFileSync(tarball))
  let longPath: string | undefined
  let at = 0
  const text = (from: number, length: number) =>
    archive.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '')
  const octal = (from: number, length: number) => Number.parseInt(text(from, length), 8)
  // Two empty blocks end it.
  while (at < archive.length && archive[at] !== 0) {
    const [size, kind, prefix] = [octal(124, 12), text(156, 1), text(345, 155)]
    const path = longPath ?? join(prefix, text(0, 100))
    const content = archive.subarray(at + BLOCK, at + BLOCK + size)
    longPath = undefined
    if (kind === 'x') {
      // A header of its own for a path that is too long for the usual one: "123 path=package/…\n".
      longPath = /^\d+ path=(.*)$/m.exec(content.toString('utf8'))?.[1]
    } else if (kind === '0' || kind === '') {
      const file = join(into, path.replace(/^package\//, ''))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content, { mode: octal(100, 8) })
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
}
