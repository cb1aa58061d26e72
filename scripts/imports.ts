// Imports go one way: a step of the gate (`npm run check`), by the table in scripts/imports/rooms.ts.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { checkImports } from './imports/check-imports.ts'
import { rooms } from './imports/rooms.ts'

const root = dirname(import.meta.dirname)

const folders = new Set(Object.keys(rooms).map((room) => room.split('/')[0] as string))
const files = [...folders].flatMap((folder) =>
  globSync(`${folder}/**/*.{ts,mjs}`, {
    cwd: root,
    exclude: (path) => path.includes('node_modules') || path.includes('cdk.out'),
  }),
)
const sources = new Map(
  files.map((file) => [file.replaceAll(sep, '/'), readFileSync(join(root, file), 'utf8')]),
)
const problems = checkImports(sources, rooms)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
