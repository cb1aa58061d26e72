// Rows that were measured for several things: a line for each metric, a column for each thing.

import type { Row } from '../rows.ts'
import { formatNumber } from './format.ts'

/** The lines of a table, the headings first; none where no row has a column. */
export function matrixOf(rows: readonly Row[]): readonly (readonly string[])[] {
  const inColumns = rows.filter(({ column }) => column !== undefined)
  if (inColumns.length === 0) return []
  const columns = [...new Set(inColumns.map(({ column }) => column ?? ''))]
  const metrics = [...new Set(inColumns.map(({ metric }) => metric))]
  const cell = (metric: string, column: string): string => {
    const row = inColumns.find((one) => one.metric === metric && one.column === column)
    return formatNumber(row?.value ?? Number.NaN)
  }
  return [
    ['', ...columns],
    ...metrics.map((metric) => [metric, ...columns.map((column) => cell(metric, column))]),
  ]
}
