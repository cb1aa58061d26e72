import type { Failure } from './outcome.ts'
import type { Random } from './system.ts'

// How often a request that was refused for now is sent, and after which pauses.

export type Patience = {
  readonly attemptsMax: number
  /** Of pauses in all, after which it is over. */
  readonly lastsMs?: number
  pauseMs(attempt: number, random: Random): number
}

/**
 * 25 + 50 + … + 400 + 400 ms, less up to half of each at random: more than a second over all, in
 * which an item that is throttled has let a thousand units pass. The caller has 29 seconds at the most.
 */
export const steadyPatience: Patience = {
  attemptsMax: 8,
  pauseMs(attempt, random) {
    const most = Math.min(400, 25 * 2 ** (attempt - 1))
    return most / 2 + (most / 2) * random()
  },
}

/**
 * Where holding back would hurt all others: a seal makes the room that every append waits for. At
 * 3 ms it takes the next unit that a throttled item lets pass; 400 of them last as long as a seal
 * may take.
 */
const eagerPatience: Patience = { attemptsMax: 400, pauseMs: () => 3 }

/**
 * A transaction holds its items for some 10 ms, and there is no line: the next to ask after it ends has
 * its turn. So it is asked again soon, at a time that nobody else has chosen, and often: within three
 * seconds of pauses 64 transactions on one item have each had theirs. Each refusal is billed like a write:
 * some 50 fit into that time, and 100 are the most.
 */
export const conflictPatience: Patience = {
  attemptsMax: 100,
  lastsMs: 3_000,
  pauseMs: (attempt, random) => Math.min(120, 10 * 2 ** (attempt - 1)) * random(),
}

/** For what somebody else does a moment later: about a tenth of a second, and few refusals are billed. */
export const briefPatience: Patience = {
  attemptsMax: 5,
  pauseMs: (attempt, random) => 10 * attempt * (0.5 + random()),
}

/** What is worth another sending. */
export type Passing = Extract<Failure, 'throttled' | 'conflict' | 'unsent' | 'unknown'>

export const isPassing = (failure: Failure): failure is Passing =>
  failure === 'throttled' || failure === 'conflict' || failure === 'unsent' || failure === 'unknown'

export function patienceFor(failure: Passing, isEager: boolean): Patience {
  // Each try may wait a second for its connection.
  if (failure === 'unsent') return steadyPatience
  if (isEager) return eagerPatience
  return failure === 'conflict' ? conflictPatience : steadyPatience
}
