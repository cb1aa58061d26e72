import type { Queues } from '../queues.ts'
import type { Clock } from '../store/dynamo.ts'
import type { Log } from '../telemetry/log.ts'

/** What of the engine a consumer uses. */
export type Engine = Pick<
  Queues,
  'pop' | 'acknowledge' | 'extend' | 'release' | 'deadLetter' | 'browse'
>

/** All that a run touches outside of itself. */
export type Edge = {
  readonly queues: Engine
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Puts an event on the bus that starts another run on this queue. */
  readonly callNext: (queue: string) => Promise<void>
}
