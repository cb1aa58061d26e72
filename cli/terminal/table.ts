import { printable } from '../../local/terminal/paint.ts'
import type { OptionTable } from '../arguments/option-table.ts'
import type { Context } from '../command.ts'

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

/** Prints a table as wide as the terminal allows, its title dimmed. */
export async function printTable(
  { io, print, paintOut }: Pick<Context<OptionTable>, 'io' | 'print' | 'paintOut'>,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const width = io.stdout.isTTY ? (io.stdout.columns ?? 80) : undefined
  const [title = '', ...lines] = tableLines(columns, rows, width)
  await print(paintOut('dim', title))
  for (const line of lines) await print(line)
}
