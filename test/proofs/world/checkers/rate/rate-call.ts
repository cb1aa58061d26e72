import type { PatternInput } from '../../../../../lambdas/rate/core/patterns.ts'
import type { SettingsInput } from '../../../../../lambdas/rate/core/settings.ts'
import type { Turn } from '../../../../../lambdas/rate/core/turn.ts'
import type { AdmitRequest } from '../../../../../lambdas/rate/rate-limits.ts'
import type { Operation } from '../../actors/callers/operation.ts'
import type { Slot } from './rows.ts'

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
}
