// Imports go one way: a step of the gate (`npm run check`), by the table in scripts/imports/rooms.ts.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import { rooms } from './imports/rooms.ts'

/** The text of each file, by its path from the root of the repository. */
type Sources = ReadonlyMap<string, string>

type Rooms = Readonly<Record<string, readonly string[]>>

/**
 * The problems with the imports of these files, a sentence each: an import that its room does not allow, or
 * files that import each other, outside the tests. Types count, because a reader follows them too.
 */
export function checkImports(sources: Sources, rooms: Rooms): string[] {
  const imports = new Map(
    [...sources].map(([file, text]) => [
      file,
      importsOf(file, text).filter((imported) => sources.has(imported)),
    ]),
  )
  const problems: string[] = []
  for (const [file, imported] of imports) {
    const room = roomOf(file, rooms)
    if (room === undefined) {
      problems.push(`${file} is in no room: name its folder in scripts/imports/rooms.ts`)
      continue
    }
    const open = [room, ...(rooms[room] ?? [])]
    const refused = imported.filter((path) => !open.some((place) => isWithin(path, place)))
    for (const path of refused) {
      problems.push(`${file} imports ${path}, and ${room} must not (scripts/imports/rooms.ts)`)
    }
  }
  for (const circle of circles(imports)) {
    // A proof's checkers and the model that they check against are read together: in the tests, types may go round.
    if (circle.every((file) => isWithin(file, 'test'))) continue
    problems.push(`These import each other: ${circle.sort().join(', ')}`)
  }
  return problems
}

const isWithin = (path: string, place: string): boolean =>
  path === place || path.startsWith(`${place}/`)

const roomOf = (file: string, rooms: Rooms): string | undefined =>
  Object.keys(rooms)
    .filter((room) => isWithin(file, room))
    .sort((a, b) => b.length - a.length)[0]

const statement = /^(?:import|export)\s(?:[^'"();]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm
const call = /\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g

const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(statement), ...text.matchAll(call)].map(([, path = '']) =>
    posix.join(posix.dirname(file), path),
  )

/** Files that lead to each other (Tarjan's strongly connected components), two or more at a time. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const order = new Map<string, number>()
  const open: string[] = []
  /** Returns the earliest open file that this one leads to. */
  const visit = (file: string): number => {
    const at = order.size
    order.set(file, at)
    open.push(file)
    let earliest = at
    for (const next of imports.get(file) ?? []) {
      const known = order.get(next)
      if (known === undefined) earliest = Math.min(earliest, visit(next))
      else if (open.includes(next)) earliest = Math.min(earliest, known)
    }
    if (earliest === at) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) found.push(circle)
    }
    return earliest
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return found
}

if (import.meta.main) {
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
}
