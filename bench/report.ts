// What a scenario measured, as rows: made and judged against a bar, then shown as a table on the terminal, as a page and
// as a chart.

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
  /** Its place in the chart, if it has one. */
  readonly point?: Point
}

type Bound = { readonly atLeast: number } | { readonly atMost: number }

export type Algorithm = 'bare' | 'pushpop' | 'sources' | 'message'
export type Point = {
  readonly chart: 'throughput' | 'units'
  readonly algorithm: Algorithm
  readonly group: string
}

export const atLeast = (limit: number): Bound => ({ atLeast: limit })
export const atMost = (limit: number): Bound => ({ atMost: limit })

export const reaches = (value: number, bound: Bound): boolean =>
  'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost

type Options = { readonly aim?: Bound; readonly column?: string; readonly point?: Point }

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

/** The chart and the table as measured, into `docs/`. */
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

![Throughput and write units by algorithm](benchmark.svg)

${markdownTable(rows)}
`
  await mkdir(docs, { recursive: true })
  await writeFile(join(docs, 'benchmark.svg'), chart(rows))
  await writeFile(join(docs, 'benchmark.md'), markdown)
}

const series: readonly { algorithm: Algorithm; label: string; colour: string }[] = [
  { algorithm: 'bare', label: 'bare UpdateItem (the limit)', colour: '#b8bec9' },
  { algorithm: 'pushpop', label: 'PushPop', colour: '#2563eb' },
  { algorithm: 'message', label: 'a row a message, with an index', colour: '#d9a441' },
  { algorithm: 'sources', label: "the sources' segments", colour: '#c2554d' },
]

const WIDTH = 960
const HEIGHT = 400
const PANEL = { top: 92, bottom: 330 }
const font = `font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"`

const caption =
  '200-byte items, embedded DynamoDB with 5 ms added to each request, all producers on one machine'

const valueText = (value: number): string =>
  value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(1)

type Value = { readonly algorithm: Algorithm; readonly group: string; readonly value: number }

/**
 * Two charts in one SVG: throughput by number of producers, and write units by algorithm. Bars in groups, values above
 * them, and nothing that needs a legend elsewhere.
 */
function chart(rows: readonly Row[]): string {
  const values = (name: 'throughput' | 'units') =>
    rows.flatMap(({ point, value }) => (point?.chart === name ? [{ ...point, value }] : []))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ${font}>`,
    '<title>PushPop: throughput and write units against other algorithms</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    legend(),
    panel(40, 500, 'Pushes a second to one queue', values('throughput')),
    panel(590, 330, 'Write units an item', values('units')),
    text(40, 384, caption, { size: 12, fill: '#6b7280' }),
    '</svg>',
    '',
  ].join('\n')
}

function legend(): string {
  let x = 40
  return series
    .map(({ label, colour }) => {
      const entry =
        `<rect x="${x}" y="20" width="12" height="12" rx="2" fill="${colour}"/>` +
        text(x + 18, 31, label, { size: 13, fill: '#374151' })
      x += 46 + label.length * 6.9
      return entry
    })
    .join('\n')
}

function panel(left: number, width: number, title: string, values: readonly Value[]): string {
  const groups = [...new Set(values.map(({ group }) => group))]
  const scale = niceScale(Math.max(1, ...values.map(({ value }) => value)))
  const y = (value: number) => PANEL.bottom - (value / scale.most) * (PANEL.bottom - PANEL.top)
  const groupWidth = width / Math.max(1, groups.length)
  const parts = [text(left, 72, title, { size: 15, fill: '#111827', weight: 600 })]

  for (let tick = 0; tick <= scale.most; tick += scale.step) {
    const colour = tick === 0 ? '#6b7280' : '#e5e7eb'
    parts.push(
      `<line x1="${left}" x2="${left + width}" y1="${y(tick)}" y2="${y(tick)}" stroke="${colour}"/>`,
    )
  }
  for (const [i, group] of groups.entries()) {
    const present = series.filter(({ algorithm }) =>
      values.some((value) => value.group === group && value.algorithm === algorithm),
    )
    const barWidth = Math.min(42, (groupWidth * 0.84) / present.length)
    const middle = left + groupWidth * (i + 0.5)
    parts.push(text(middle, PANEL.bottom + 22, group, { size: 13, fill: '#374151', centre: true }))
    for (const [j, { algorithm, colour }] of present.entries()) {
      const { value = 0 } =
        values.find((it) => it.group === group && it.algorithm === algorithm) ?? {}
      const x = middle + (j - present.length / 2) * barWidth
      const height = Math.max(1, PANEL.bottom - y(value))
      parts.push(
        `<rect x="${x + 2}" y="${PANEL.bottom - height}" width="${barWidth - 4}" height="${height}" rx="2" fill="${colour}"/>`,
        text(x + barWidth / 2, PANEL.bottom - height - 5, valueText(value), {
          size: 11,
          fill: '#374151',
          centre: true,
        }),
      )
    }
  }
  return parts.join('\n')
}

/** Steps of 1, 2 or 5 times a power of ten, about five of them. */
function niceScale(most: number): { readonly step: number; readonly most: number } {
  const rough = most / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  return { step, most: Math.ceil(most / step) * step }
}

type TextStyle = {
  readonly size: number
  readonly fill: string
  readonly weight?: number
  readonly centre?: boolean
}

function text(x: number, y: number, content: string, style: TextStyle): string {
  const escaped = content.replace(/&/g, '&amp;').replace(/</g, '&lt;')
  const weight = style.weight === undefined ? '' : ` font-weight="${style.weight}"`
  const anchor = style.centre ? ' text-anchor="middle"' : ''
  return `<text x="${x}" y="${y}" font-size="${style.size}" fill="${style.fill}"${weight}${anchor}>${escaped}</text>`
}
