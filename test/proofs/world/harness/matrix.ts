import { crossingOf, features, impossible, pairs } from './crossings.ts'
import type { Statistics } from './statistics.ts'

const CELL = 6

/** Every pair, and in how many seeds it met. Columns are numbered as the rows are. */
export function showMatrix(statistics: Statistics): string[] {
  const names = features.map((name, row) => `${String(row + 1).padStart(2)} ${name}`)
  const width = Math.max(...names.map(({ length }) => length)) + 1
  const head = features.map((_, column) => String(column + 1).padStart(CELL)).join('')
  return [
    'Crossings: seeds in which two features met in one queue within a lock’s or a timer’s life',
    `${' '.repeat(width)}${head}`,
    ...features.map((a, row) => {
      const cells = features.slice(0, row).map((b) => cellOf(statistics, b, a).padStart(CELL))
      return `${names[row]?.padEnd(width)}${cells.join('')}`
    }),
    ...impossible.map(([a, b, why]) => `–: ${a} × ${b}: ${why}`),
  ]
}

function cellOf(statistics: Statistics, a: string, b: string): string {
  if (impossible.some(([one, other]) => one === a && other === b)) return '–'
  return String(statistics.get(crossingOf(a as never, b as never)))
}

/** Pairs that met in fewer seeds than that. */
export const missingCrossings = (statistics: Statistics, least: number): string[] =>
  [...pairs()]
    .map(([a, b]) => crossingOf(a, b))
    .filter((name) => statistics.get(name) < least)
    .map((name) => `${name}: ${statistics.get(name)} seeds, not ${least}`)
