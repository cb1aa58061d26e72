import { isPushPopError } from '../../client/index.ts'
import { messageOf } from '../failure.ts'
import { Broken, Skipped, saysNothing } from './claims.ts'

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

/** What a step's error says about the promise. */
export function verdictOn(error: unknown, halt: AbortSignal): Verdict {
  if (error instanceof Broken) return { kind: 'broken', reason: error.message }
  if (error instanceof Skipped) return { kind: 'skipped', reason: error.message }
  if (halt.aborted) return { kind: 'undecided', reason: reasonOf(halt) }
  if (!isPushPopError(error)) {
    const reason = `the check itself failed: ${messageOf(error)}`
    return { kind: 'undecided', reason }
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
