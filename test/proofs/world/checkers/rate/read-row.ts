import type { Item } from '../../../../../testing/simulated/dynamodb/value.ts'

/**
 * A second, plainer reading of a stored row, so that the model does not learn about slots and times from
 * the code that it checks.
 */
export type ReadRow = Readonly<ReturnType<typeof readStoredRow>>

export function readStoredRow(item: Item) {
  const { e, c, t, x, k, ttl } = item as unknown as Record<string, number> & { e: string }
  const [rules = '', rest = ''] = e.split('~')
  const [revision = '', place = ''] = rest.split('@')
  const [startMs, generation] = place.split('+').map(Number) as [number, number]
  const limits = rules.slice(1).split(/[/x]/).map(Number)
  const [max = 0, windowMs = 0, burst = 1] = limits
  return {
    epoch: e,
    /** The epoch without its revision: the slots are the same ones. */
    ruler: `${rules}@${place}`,
    window: rules.startsWith('w'),
    max,
    windowMs,
    burst,
    revision: Number(revision.replace('k', '')),
    startMs,
    generation,
    cursor: c as number,
    atMs: t as number,
    giveUps: x ?? 0,
    ttl: ttl as number | undefined,
    configured: k !== undefined,
    /** Whether its epoch says so too. */
    isOwn: revision.endsWith('k'),
  }
}

export const widthIn = (row: ReadRow, cost: number): number =>
  row.window ? cost : cost * row.windowMs

/** When a request at this position goes. */
export function turnIn(row: ReadRow, position: number, cost: number): number {
  if (row.window) return row.startMs + Math.floor(position / row.max) * row.windowMs
  const early = Math.max(0, row.burst - cost) * row.windowMs
  return Math.max(row.startMs, row.startMs + Math.ceil((position - early) / row.max))
}

/** The first moment at which this position is past. */
export const pastMs = (row: ReadRow, position: number): number =>
  row.window
    ? turnIn(row, position, 1) + row.windowMs
    : row.startMs + Math.floor(position / row.max) + 1

/** Whether the row as it is cannot take this request at this time: neither now nor in a line of so many. */
export function isFull(row: ReadRow, cost: number, inLine: number, clockMs: number): boolean {
  const nowMs = Math.max(clockMs, row.atMs)
  if (!row.window) {
    const waitMs = turnIn(row, row.cursor, cost) - nowMs
    return inLine === 0 ? waitMs > 0 : waitMs > (inLine * row.windowMs) / row.max - 1
  }
  const window = Math.floor((nowMs - row.startMs) / row.windowMs)
  const from = Math.max(row.cursor, window * row.max)
  const left = row.max - (from % row.max)
  const position = cost > left ? from + left : from
  return position + cost > (window + 1) * row.max + inLine
}

/** Whether anything is used or promised by it that counts at this time. */
export function isIdle(row: ReadRow, clockMs: number): boolean {
  const nowMs = Math.max(clockMs, row.atMs)
  if (nowMs < row.startMs) return false
  if (!row.window) return row.cursor <= (nowMs - row.startMs) * row.max
  return row.cursor <= Math.floor((nowMs - row.startMs) / row.windowMs) * row.max
}
