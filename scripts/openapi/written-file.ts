import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Writes a generated file of the repository; with `--check` it only says whether it is up to date. */
export function writeOrCheck(
  path: string,
  text: string,
  by: { script: string; from: string },
): void {
  const file = join(root, path)
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text)
    console.log(`Wrote ${path}`)
  } else if (currentText(file) !== text) {
    console.error(`${path} is not what ${by.from} say: run \`npm run ${by.script}\``)
    process.exitCode = 1
  }
}

function currentText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
