import type { Turn } from '../../../../../rate/core/epoch.ts'
import type { PatternInput, SettingsInput } from '../../../../../rate/core/settings.ts'
import type { AdmitRequest } from '../../../../../rate/rate-limits.ts'
import type { Item } from '../../../../../testing/simulated/dynamodb/values.ts'
import type { Operation } from '../../actors/callers/operation.ts'

export type HeldTicket = { readonly key: string; readonly ticket: string; readonly turn: Turn }

/** One call, as data: what is drawn, the history shows and a process performs. */
export type RateCommand =
  | { readonly verb: 'admit'; readonly key: string; readonly request: AdmitRequest }
  | ({ readonly verb: 'giveUp' | 'verify' } & HeldTicket)
  | { readonly verb: 'configure'; readonly key: string; readonly settings: SettingsInput }
  | { readonly verb: 'unconfigure' | 'state'; readonly key: string }
  | { readonly verb: 'configurePatterns'; readonly patterns: readonly PatternInput[] }

export type RateCall = {
  readonly command: RateCommand
  /** What the network and the clock know of it. */
  readonly operation: Operation
  /** What its writes took: all slots but the last were wasted by lost answers. */
  readonly slots: Slot[]
  /** Its process's clock is far off: it may change nothing. */
  readonly farOff: boolean
  /** Whether its process knows the row as it is. */
  readonly knows: (row: string) => boolean
  /** The revision of the settings of prefixes that it went by, if that is certain. */
  readonly patterns: () => number | undefined
}

/** A stretch of slots that one write took. */
export type Slot = {
  readonly by: number
  readonly row: ReadRow
  readonly position: number
  readonly cost: number
  readonly turnMs: number
  /** How many states its row had had before. */
  readonly at: number
  /** The latest that its caller's clock had shown by then. */
  readonly clockMs: number
  /** It landed so long after its window that its row may have been forgotten: it may be another's, and is nobody's. */
  readonly late: boolean
  /**
   * The write brought newer settings, so it may have taken nothing, because by these there was no room. The answer
   * shows which; until then, here is what the slot would violate.
   */
  open: (() => void)[] | undefined
  givenUp: boolean
  readonly history: RowHistory
}

export type RowHistory = {
  /** Every state, with the time from which it was so; `row` is undefined while it was not there. */
  readonly states: { fromMs: number; row: ReadRow | undefined; by: Operation | undefined }[]
  readonly slots: Slot[]
}

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
