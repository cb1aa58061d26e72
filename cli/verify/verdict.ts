import { isAtLimit } from '../../client/errors.ts'
import { type Configuration, isPushPopError } from '../../client/index.ts'
import { messageOf } from '../failure.ts'
import { Broken, Skipped, saysNothing } from './claims.ts'
import { isLimited, ofPrefix } from './needs.ts'

/**
 * - `holds`: the service kept its promise.
 * - `broken`: it did something else.
 * - `undecided`: the step could not be played to its end: the network, the credentials, the time.
 * - `skipped`: nobody can see this from here.
 */
export type Verdict =
  | { readonly kind: 'holds' }
  | { readonly kind: 'broken' | 'undecided' | 'skipped'; readonly reason: string }

export type VerdictKind = Verdict['kind']

export type Bounds = {
  readonly halt: AbortSignal
  /** Those of the run's queues. */
  readonly settings: Configuration
}

/** What a step's error says about the promise. */
export function verdictOn(error: unknown, { halt, settings }: Bounds): Verdict {
  if (error instanceof Broken) return { kind: 'broken', reason: error.message }
  if (error instanceof Skipped) return { kind: 'skipped', reason: error.message }
  if (halt.aborted) return { kind: 'undecided', reason: reasonOf(halt) }
  if (!isPushPopError(error)) {
    const reason = `the check itself failed: ${messageOf(error)}`
    return { kind: 'undecided', reason }
  }
  // The gateway's throttle does not say when to come again.
  if (isLimited(settings) && isAtLimit(error)) {
    return { kind: 'skipped', reason: `${ofPrefix(settings)} limits it: ${error.message}` }
  }
  const kind = saysNothing(error) ? 'undecided' : 'broken'
  return { kind, reason: `${error.code}: ${error.message}` }
}

export const reasonOf = (halt: AbortSignal): string =>
  halt.reason instanceof DOMException && halt.reason.name === 'TimeoutError'
    ? 'its time was over'
    : 'it was interrupted'

const ranks: readonly VerdictKind[] = ['broken', 'undecided', 'holds', 'skipped']

/** A check holds if every step holds that could be tried. */
export const worstOf = (kinds: readonly VerdictKind[]): VerdictKind =>
  ranks.find((kind) => kinds.includes(kind)) ?? 'skipped'
