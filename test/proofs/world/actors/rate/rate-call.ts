import type { PatternInput } from '../../../../../lambdas/rate/core/patterns.ts'
import type { SettingsInput } from '../../../../../lambdas/rate/core/settings.ts'
import type { Turn } from '../../../../../lambdas/rate/core/turn.ts'
import type { AdmitRequest, RateLimits } from '../../../../../lambdas/rate/rate-limits.ts'
import type { Slot } from '../../checkers/rate/rate-rows.ts'
import type { Operation } from '../callers/operation.ts'

/** One call, as data: what is drawn, the history shows and a process performs. */
export type RateCommand =
  | { readonly verb: 'admit'; readonly key: string; readonly request: AdmitRequest }
  | { readonly verb: 'giveUp'; readonly key: string; readonly ticket: string; readonly turn: Turn }
  | { readonly verb: 'verify'; readonly key: string; readonly ticket: string; readonly turn: Turn }
  | { readonly verb: 'configure'; readonly key: string; readonly settings: SettingsInput }
  | { readonly verb: 'unconfigure'; readonly key: string }
  | { readonly verb: 'configurePatterns'; readonly patterns: readonly PatternInput[] }
  | { readonly verb: 'state'; readonly key: string }

export type RateCall = {
  readonly command: RateCommand
  /** What the network and the clock know of it. */
  readonly operation: Operation
  /** What its writes took: all slots but the last were wasted by lost answers. */
  readonly slots: Slot[]
  /** Its process's clock is far off: it may change nothing. */
  readonly farOff: boolean
  /** Whether its process knew the row as it was when it answered; false if in doubt. */
  readonly knows: (row: string) => boolean
}

/** `receivedMs`: when the gateway got it, which is the true time. */
export async function performRate(
  limits: RateLimits,
  command: RateCommand,
  receivedMs: number,
): Promise<unknown> {
  switch (command.verb) {
    case 'admit':
      return limits.admit(command.key, { ...command.request, receivedMs })
    case 'giveUp':
      return limits.giveUp(command.key, command.ticket, { receivedMs })
    case 'verify':
      return limits.verify(command.key, command.ticket, { receivedMs })
    case 'configure':
      return limits.configure(command.key, command.settings, { receivedMs })
    case 'unconfigure':
      return limits.unconfigure(command.key, { receivedMs })
    case 'configurePatterns':
      return limits.configurePatterns(command.patterns, { receivedMs })
    case 'state':
      return limits.state(command.key)
    default:
      return command satisfies never
  }
}
