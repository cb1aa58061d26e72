// What a scenario measured, as rows: made and judged against a bar, then shown as a table on the terminal and as a page.

import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import type { Reading, Tally } from './meter.ts'
import { DYNAMODB_LATENCY_MS, S3_LATENCY_MS } from './metered-stores.ts'

/** One line of the table. */
export type Row = {
  /** What it is listed under: its scenario, as a rule. */
  readonly name: string
  readonly metric: string
  readonly value: number
  /** Absent: measured for comparison only. */
  readonly bar?: Bound
  readonly aim?: Bound
  readonly pass?: boolean
  /** What was measured. Rows with a column are shown as a matrix. */
  readonly column?: string
}

type Bound = { readonly atLeast: number } | { readonly atMost: number }

export const atLeast = (limit: number): Bound => ({ atLeast: limit })
export const atMost = (limit: number): Bound => ({ atMost: limit })

export const reaches = (value: number, bound: Bound): boolean =>
  'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost

type Options = { readonly aim?: Bound; readonly column?: string }

/** Rows of one scenario: `bar` makes one that can fail, `info` one that cannot, aim or not. */
export function rowsOf(name: string) {
  return {
    bar: (metric: string, value: number, bar: Bound, options: Options = {}): Row => ({
      name,
      metric,
      value,
      bar,
      pass: reaches(value, bar),
      ...options,
    }),
    info: (metric: string, value: number, options: Options = {}): Row => ({
      name,
      metric,
      value,
      ...options,
    }),
  }
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size >= 1000) return Math.round(value).toLocaleString('en')
  if (size >= 100) return value.toFixed(0)
  if (size >= 10) return value.toFixed(1)
  return String(Number(value.toFixed(3)))
}

function formatBound(bound: Bound | undefined): string {
  if (bound === undefined) return ''
  return 'atLeast' in bound ? `≥ ${formatNumber(bound.atLeast)}` : `≤ ${formatNumber(bound.atMost)}`
}

function formatVerdict({ value, bar, aim, pass }: Row): string {
  if (bar !== undefined && !pass) return 'FAIL'
  if (aim !== undefined && reaches(value, aim)) return 'aim'
  return bar === undefined ? '' : 'pass'
}

/** Rows under the name of their bar, in the order in which they came. */
function byName(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.name)
    if (group === undefined) groups.set(row.name, [row])
    else group.push(row)
  }
  return groups
}

/**
 * Rows that were measured for several things: a line for each metric, a column for each thing, the headings first; none
 * where no row has a column.
 */
function matrixOf(rows: readonly Row[]): readonly (readonly string[])[] {
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

const docs = join(import.meta.dirname, '..', 'docs')

/** The table as measured, into `docs/`. */
export async function writeDocs(rows: readonly Row[], date: Date): Promise<void> {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor'
  const markdown = `# Benchmark

Written by \`npm run bench -- --write-docs\` on ${date.toISOString().slice(0, 10)}: Node ${process.version},
${availableParallelism()} cores (${processor}), the embedded DynamoDB and S3 with ${DYNAMODB_LATENCY_MS} and ${S3_LATENCY_MS} ms added to each
request. Units are those that DynamoDB reports (indexes and refused writes included), prices are
list prices in us-east-1 (\`lib/prices.ts\`), and "worth of WRU" counts reads and S3 requests at their
price too. Throughput is this machine's: compare the columns with each other, not with AWS, where
one item takes 1,000 write units a second. "The sources" stand for the segmented queue of actor
frameworks, which reads and writes its metadata and a whole segment at each step (\`bench/baselines\`).

${markdownTable(rows)}
`
  await mkdir(docs, { recursive: true })
  await writeFile(join(docs, 'benchmark.md'), markdown)
}
