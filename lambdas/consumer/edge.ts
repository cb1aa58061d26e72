import type { Queues } from '../engine/queues.ts'
import type { Clock } from '../foundation/dynamo.ts'
import { QueueError } from '../foundation/errors.ts'
import type { Log } from '../runtime/log.ts'

/** The engine methods a consumer uses. */
export type Engine = Pick<
  Queues,
  'pop' | 'acknowledge' | 'extend' | 'release' | 'deadLetter' | 'browse'
>

/** Everything outside of itself that a run uses. */
export type Edge = {
  readonly queues: Engine
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Puts an event on the bus that starts another run on this queue. */
  readonly callNext: (queue: string) => Promise<void>
}

export const late = (ms: number): QueueError =>
  new QueueError('STORE_UNAVAILABLE', `No answer came within ${ms} ms`, { outcome: 'unknown' })
