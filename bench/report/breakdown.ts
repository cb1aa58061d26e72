import type { Reading, Tally } from '../metering/meter.ts'
import { formatNumber } from './format.ts'

const columns: readonly (keyof Tally)[] = [
  'requests',
  'failedWrites',
  'throttled',
  'writeUnits',
  'readUnits',
]

/** Where requests and units went, by kind of request, for each of `count` operations. */
export function breakdown(heading: string, reading: Reading, count: number): string {
  const kinds = [...reading].sort(([, a], [, b]) => b.writeUnits - a.writeUnits)
  const line = (cells: readonly string[]) =>
    `  ${(cells[0] ?? '').padEnd(20)}${cells
      .slice(1)
      .map((cell) => cell.padStart(13))
      .join('')}`
  return [
    `${heading} (each of ${count})`,
    line(['', ...columns]),
    ...kinds.map(([kind, tally]) =>
      line([kind, ...columns.map((column) => formatNumber(tally[column] / count))]),
    ),
  ].join('\n')
}
