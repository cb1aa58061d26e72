// `npm run client-types` writes client/api-types.ts, what goes over the wire as TypeScript, from
// docs/openapi.json; with `--check` it only says whether the file is as that page would have it.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiTypes, type OpenApi } from './client-types/api-types.ts'

const page = join(import.meta.dirname, '../docs/openapi.json')
const file = join(import.meta.dirname, '../client/api-types.ts')
const biome = join(import.meta.dirname, '../node_modules/@biomejs/biome/bin/biome')
const text = formatted(apiTypes(JSON.parse(readFileSync(page, 'utf8')) as OpenApi))

if (process.argv.includes('--check')) {
  if (currentText() !== text) {
    console.error(
      'client/api-types.ts is not what docs/openapi.json says: run `npm run client-types`',
    )
    process.exitCode = 1
  }
} else {
  writeFileSync(file, text)
  console.log('Wrote client/api-types.ts')
}

function currentText(): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** As the linter wants every file to be. */
function formatted(code: string): string {
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${file}`], {
    input: code,
    encoding: 'utf8',
  })
}
