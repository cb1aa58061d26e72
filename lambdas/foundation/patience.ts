import type { Failure } from './outcome.ts'
import type { Random } from './system.ts'

// How often we send a request that is refused for now, and with which pauses.

export type Patience = {
  readonly attemptsMax: number
  /** After pauses of this length in all, we give up. */
  readonly lastsMs?: number
  pauseMs(attempt: number, random: Random): number
}

/**
 * 25 + 50 + … + 400 + 400 ms, each shortened by up to half at random: more than a second in all, in which
 * a throttled item has let a thousand units pass. The caller has 29 seconds at most.
 */
export const steadyPatience: Patience = {
  attemptsMax: 8,
  pauseMs(attempt, random) {
    const most = Math.min(400, 25 * 2 ** (attempt - 1))
    return most / 2 + (most / 2) * random()
  },
}

/**
 * For requests whose delay would hurt all others: a seal makes the room that every append waits for. With a
 * pause of 3 ms it takes the next unit that a throttled item lets pass; 400 pauses last as long as a seal may
 * take.
 */
const eagerPatience: Patience = { attemptsMax: 400, pauseMs: () => 3 }

/**
 * A transaction holds its items for some 10 ms, and there is no queue: the first request after its end wins.
 * So we ask again soon, at a random time, and often: within three seconds of pauses, 64 transactions on one
 * item have each had their turn. AWS bills each refusal like a write: some 50 fit into that time, and 100 are
 * the most.
 */
export const conflictPatience: Patience = {
  attemptsMax: 100,
  lastsMs: 3_000,
  pauseMs: (attempt, random) => Math.min(120, 10 * 2 ** (attempt - 1)) * random(),
}

/** For work that another process does a moment later if we fail: about a tenth of a second, for few billed refusals. */
export const briefPatience: Patience = {
  attemptsMax: 5,
  pauseMs: (attempt, random) => 10 * attempt * (0.5 + random()),
}

/** Failures after which another try makes sense. */
export type Passing = Extract<Failure, 'throttled' | 'conflict' | 'unsent' | 'unknown'>

export const isPassing = (failure: Failure): failure is Passing =>
  failure === 'throttled' || failure === 'conflict' || failure === 'unsent' || failure === 'unknown'

export function patienceFor(failure: Passing, isEager: boolean): Patience {
  // Each try may wait a second for its connection.
  if (failure === 'unsent') return steadyPatience
  if (isEager) return eagerPatience
  return failure === 'conflict' ? conflictPatience : steadyPatience
}
