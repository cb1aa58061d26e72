import type { Row } from '../rows.ts'
import { byName, formatBound, formatNumber, formatVerdict } from './format.ts'
import { matrixOf } from './matrix.ts'

const cellsOf = (row: Row): string[] => [
  row.metric,
  formatNumber(row.value),
  formatBound(row.bar),
  formatBound(row.aim),
  formatVerdict(row),
]

const headings = ['', 'measured', 'bar', 'aim', '']

const isAlone = ({ column }: Row): boolean => column === undefined

export function textTable(rows: readonly Row[]): string {
  const line = alignedTo([headings, ...rows.filter(isAlone).map(cellsOf)])
  const lines = [line(headings)]
  for (const [name, group] of byName(rows)) {
    lines.push('', name, ...group.filter(isAlone).map((row) => line(cellsOf(row))))
    const matrix = matrixOf(group)
    if (matrix.length > 0) lines.push('', ...matrix.map(alignedTo(matrix)))
  }
  return lines.join('\n')
}

type Cells = readonly string[]

/** Writes a line of this table: the first column to the left, the others to the right. */
function alignedTo(table: readonly Cells[]): (cells: Cells) => string {
  const widthOf = (i: number) => Math.max(...table.map((cells) => cells[i]?.length ?? 0))
  const widths = table[0]?.map((_, i) => widthOf(i)) ?? []
  return (cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd()
}

export function markdownTable(rows: readonly Row[]): string {
  const line = (cells: Cells): string => `| ${cells.join(' | ')} |`
  const sections = [...byName(rows)].map(([name, group]) => {
    const [columns, ...lines] = matrixOf(group)
    return [
      `## ${capitalised(name)}`,
      '',
      '| | measured | bar | aim | |',
      '| --- | ---: | ---: | ---: | --- |',
      ...group.filter(isAlone).map((row) => line(cellsOf(row))),
      ...(columns === undefined
        ? []
        : [
            '',
            line(columns),
            line(columns.map((_, i) => (i === 0 ? '---' : '---:'))),
            ...lines.map(line),
          ]),
    ].join('\n')
  })
  return sections.join('\n\n')
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
