// `npm run client-types` writes client/api-types.ts, what goes over the wire as TypeScript, from
// docs/openapi.json; with `--check` it only says whether the file is as that page would have it.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiTypes, type OpenApi } from './client-types/api-types.ts'
import { writeOrCheck } from './openapi/written-file.ts'

const page = join(import.meta.dirname, '../docs/openapi.json')
const biome = join(import.meta.dirname, '../node_modules/@biomejs/biome/bin/biome')
const file = 'client/api-types.ts'
const types = apiTypes(JSON.parse(readFileSync(page, 'utf8')) as OpenApi)

/** Formatted as the linter wants every file. */
const text = execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${file}`], {
  input: types,
  encoding: 'utf8',
})
writeOrCheck(file, text, { script: 'client-types', from: 'the schemas of docs/openapi.json' })
