import { QueueError } from '../foundation/errors.ts'
import type { Edge } from './edge.ts'
import { TROUBLES_MAX, troublePauseMs } from './pace.ts'

/**
 * Repeats a request that settles a lock, even if its answer was lost: an id names one lock, which ends
 * once, so a second copy finds it ended and changes nothing.
 */
export async function insist<T>({ clock, random }: Edge, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || failures > TROUBLES_MAX) throw error
      await clock.sleep(troublePauseMs(failures, random))
    }
  }
}

/** Worth another try: the store is busy or out of reach, or the answer was lost. */
export const isPassing = (error: unknown): boolean =>
  error instanceof QueueError && (error.retryable || error.outcome === 'unknown')
