// `npm run openapi` writes docs/openapi.json; with `--check` it only says whether the file is as the
// schemas would have it.

import { openApiDocument } from './openapi/document.ts'
import { printJson } from './openapi/print-json.ts'
import { writeOrCheck } from './openapi/written-file.ts'

const text = `${printJson(openApiDocument())}\n`
writeOrCheck('docs/openapi.json', text, { script: 'openapi', from: 'the schemas' })
