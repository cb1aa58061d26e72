import type { PatternInput } from '../../../lambdas/rate/core/patterns.ts'
import type { SettingsInput } from '../../../lambdas/rate/core/settings.ts'
import type { Turn } from '../../../lambdas/rate/core/turn.ts'
import type { AdmitRequest, RateLimits } from '../../../lambdas/rate/rate-limits.ts'
import { type Operation, startOperation } from '../world/actors/callers/operation.ts'
import type { Issue } from './rate-model.ts'

/** One call, as data: what the workload draws, the history shows and a process performs. */
export type RateCommand =
  | { readonly verb: 'admit'; readonly key: string; readonly request: AdmitRequest }
  | { readonly verb: 'giveUp'; readonly key: string; readonly ticket: string; readonly turn: Turn }
  | { readonly verb: 'verify'; readonly key: string; readonly ticket: string; readonly turn: Turn }
  | { readonly verb: 'configure'; readonly key: string; readonly settings: SettingsInput }
  | { readonly verb: 'unconfigure'; readonly key: string }
  | { readonly verb: 'configurePatterns'; readonly patterns: readonly PatternInput[] }
  | { readonly verb: 'state'; readonly key: string }

/** The fields that the queues' simulation needs (its network counts and names calls by them), and ours. */
export type RateOperation = Pick<
  Operation,
  'id' | 'writer' | 'startedMs' | 'clockMinMs' | 'clockMaxMs' | 'requests'
> & {
  readonly command: RateCommand
  /** Slots that its writes took, in order: all but the last were wasted by lost answers. */
  readonly issues: Issue[]
  /** Its process's clock is far off: it may change nothing. */
  readonly farOff: boolean
}

export function startRateOperation(
  id: number,
  writer: string,
  command: RateCommand,
  startedMs: number,
  farOff: boolean,
): RateOperation {
  const base = startOperation(id, writer, { verb: 'list', queue: '' }, startedMs, 0)
  return { ...base, command, issues: [], farOff }
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
