// `npm run openapi` writes docs/openapi.json; with `--check` it only says whether the file is as the
// schemas would have it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiDocument } from './openapi/document.ts'
import { printJson } from './openapi/print-json.ts'

const file = join(import.meta.dirname, '../docs/openapi.json')
const text = `${printJson(openApiDocument())}\n`

if (process.argv.includes('--check')) {
  if (currentText() !== text) {
    console.error('docs/openapi.json is not what the schemas say: run `npm run openapi`')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, text)
  console.log('Wrote docs/openapi.json')
}

function currentText(): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
