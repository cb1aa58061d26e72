import type { PatternInput } from '../../../../../lambdas/rate/core/patterns.ts'
import type { SettingsInput } from '../../../../../lambdas/rate/core/settings.ts'
import type { Turn } from '../../../../../lambdas/rate/core/turn.ts'
import type { AdmitRequest } from '../../../../../lambdas/rate/rate-limits.ts'
import type { Operation } from '../../actors/callers/operation.ts'
import type { ReadRow } from './read-row.ts'

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
