// Amounts, times and tables as people read them.

import { printable } from '../local/terminal/terminal.ts'

export const grouped = (n: number): string => n.toLocaleString('en-US')

/** `1 item`, `2,000 items` */
export const counted = (n: number, noun: string): string =>
  `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`

const steps = [
  { unit: 'd', seconds: 86_400 },
  { unit: 'h', seconds: 3_600 },
  { unit: 'min', seconds: 60 },
] as const

/** `3 d`, `12 min`, `4 s`: one unit is enough to see whether something waits too long. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  for (const step of steps) {
    if (seconds >= step.seconds) return `${Math.floor(seconds / step.seconds)} ${step.unit}`
  }
  return `${seconds} s`
}

export const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** From the API's epoch seconds, with milliseconds: a window may be a tenth of a second. */
export const isoTime = (seconds: number): string =>
  new Date(Math.round(seconds * 1000)).toISOString()

/** `40 ms`, `1.3 s`, `3,600 s`: never less than it is. */
export const pause = (ms: number): string =>
  ms < 1000 ? `${Math.ceil(ms)} ms` : `${grouped(Math.ceil(ms / 100) / 10)} s`

export type Column = { readonly title: string; readonly align?: 'right' }

const GAP = '  '

/** Lines of a table, the title first; columns as wide as their widest cell. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  /** Cuts lines where a terminal ends; a file gets them whole. */
  widthMax = Number.POSITIVE_INFINITY,
): readonly string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(printable))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)))
  return cells.map((row) => {
    const line = columns
      .map(({ align }, at) => {
        const cell = row[at] ?? ''
        const width = widths[at] ?? 0
        return align === 'right' ? cell.padStart(width) : cell.padEnd(width)
      })
      .join(GAP)
      .trimEnd()
    return line.length > widthMax ? `${line.slice(0, widthMax - 1)}…` : line
  })
}

/** `max_requests  100`: in the API's own names, a line each. */
export function settingLines(settings: object): readonly string[] {
  const rows = Object.entries(settings).map(([name, value]) => [
    name,
    typeof value === 'number' ? grouped(value) : written(value),
  ])
  return tableLines([{ title: '' }, { title: '' }], rows).slice(1)
}

/** A limit as `pushpop config` takes it. */
const written = (value: unknown): string => {
  if (value === null) return 'none'
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, one]) => `${name}=${one}`)
    .join(',')
}
