// A consumer that has made for itself what CommonJS has by itself, beside a package that needs it.

import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { consumer } from '../../../lambdas/consumer/index.ts'

const require = createRequire(import.meta.url)
const __filename = fileURLToPath(import.meta.url)
const __dirname = dirname(__filename)

export const handler = consumer(() => {})

export const tryThem = (): object => ({
  pg: new pg.Client({ host: 'db.example' }).host,
  name: __filename.slice(__dirname.length + 1),
  util: require('node:util').format('%d', 17),
})
