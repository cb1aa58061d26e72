import type { Queues } from '../queues.ts'
import type { Log } from '../telemetry/log.ts'

/** What of the engine a consumer uses. */
export type Engine = Pick<
  Queues,
  'pop' | 'acknowledge' | 'extend' | 'release' | 'deadLetter' | 'browse'
>

export type Clock = {
  nowMs(): number
  /** Resolves early when the signal comes. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** All that a run touches outside of itself. */
export type Edge = {
  readonly queues: Engine
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Puts an event on the bus that starts another run on this queue. */
  readonly callNext: (queue: string) => Promise<void>
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
    }),
}
