import type { Row } from '../rows.ts'
import { byName, formatBound, formatNumber, formatVerdict } from './format.ts'

const cellsOf = (row: Row): string[] => [
  row.metric,
  formatNumber(row.value),
  formatBound(row.bar),
  formatBound(row.aim),
  formatVerdict(row),
]

const headings = ['', 'measured', 'bar', 'aim', '']

export function textTable(rows: readonly Row[]): string {
  const all = [headings, ...rows.map(cellsOf)]
  const widths = headings.map((_, i) => Math.max(...all.map((cells) => cells[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) =>
        i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number),
      )
      .join('  ')
      .trimEnd()
  const lines = [line(headings)]
  for (const [name, group] of byName(rows)) {
    lines.push('', name, ...group.map((row) => line(cellsOf(row))))
  }
  return lines.join('\n')
}

export function markdownTable(rows: readonly Row[]): string {
  const sections = [...byName(rows)].map(([name, group]) =>
    [
      `## ${capitalised(name)}`,
      '',
      '| | measured | bar | aim | |',
      '| --- | ---: | ---: | ---: | --- |',
      ...group.map((row) => `| ${cellsOf(row).join(' | ')} |`),
    ].join('\n'),
  )
  return sections.join('\n\n')
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
