// Files of the repository that a script writes, and that the gate compares with what the script would write.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

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

const COLUMNS = 100

/** JSON as the formatter would leave it: lists of plain values on one line where they fit. */
export function printJson(value: unknown, indent = '', before = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((item) => printJson(item, inner))
    const line = `[${items.join(', ')}]`
    const isPlain = value.every((item) => typeof item !== 'object' || isEmpty(item))
    // The comma behind it counts as well.
    if (isPlain && indent.length + before + line.length < COLUMNS) return line
    return `[\n${items.map((item) => inner + item).join(',\n')}\n${indent}]`
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  if (fields.length === 0) return '{}'
  const lines = fields.map(([name, field]) => {
    const head = `${JSON.stringify(name)}: `
    return head + printJson(field, inner, head.length)
  })
  return `{\n${lines.map((line) => inner + line).join(',\n')}\n${indent}}`
}

const isEmpty = (value: object | null): boolean => value === null || Object.keys(value).length === 0
