import type { Edge } from './edge.ts'
import { TROUBLES_MAX, troublePauseMs } from './pace.ts'
import { isPassing } from './refusal.ts'

/**
 * Repeats a request that settles a lock, even if its answer was lost: an id names one lock, which ends only
 * once, so a second copy finds it ended and changes nothing. Once the time is over, we stop repeating.
 */
export async function insist<T>(
  { clock, random }: Pick<Edge, 'clock' | 'random'>,
  work: () => Promise<T>,
  timeOver: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || failures > TROUBLES_MAX || timeOver.aborted) throw error
      await clock.sleep(troublePauseMs(failures, random), timeOver)
    }
  }
}
