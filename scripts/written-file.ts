// Files of the repository that a script writes, and that the gate compares with what the script would write.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Writes a generated file of the repository; with `--check` it only says whether it is up to date. */
export function writeOrCheck(
  path: string,
  unformatted: string,
  by: { script: string; from: string },
): void {
  const file = join(root, path)
  const text = formatted(path, unformatted)
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text)
    console.log(`Wrote ${path}`)
  } else if (currentText(file) !== text) {
    console.error(`${path} is not what ${by.from} say: run \`npm run ${by.script}\``)
    process.exitCode = 1
  }
}

/** As the linter wants every file. */
function formatted(path: string, input: string): string {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const args = [biome, 'format', `--stdin-file-path=${path}`]
  return execFileSync(process.execPath, args, { input, encoding: 'utf8' })
}

function currentText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
