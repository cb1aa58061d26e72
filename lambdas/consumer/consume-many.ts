import type { QueueSummary, Queues } from '../engine/queues.ts'
import { randomText } from '../foundation/random-text.ts'
import { type Clock, secureRandom, systemClock } from '../foundation/system.ts'
import { consumeManyWith } from './core/consume-many.ts'
import type { Handler } from './core/handler.ts'
import type { Standing } from './core/look.ts'
import type { ConsumeManyOptions, Which } from './core/many-options.ts'
import type { Counts } from './core/run.ts'
import { late } from './edge.ts'
import { KEY_CHARACTERS } from './run-queue.ts'

/** A queue of the list, in the form that the rota needs. */
export const standingOf = ({ queue, count, detail }: QueueSummary): Standing => ({
  queue,
  count,
  lockedCount: detail?.lockedCount,
  waitingCount: detail?.waitingCount,
  isBlocked: detail?.blockedUntilMs !== undefined,
})

/** It only measures how long something takes. If the system's clock is set back, no pause becomes longer. */
const clock: Clock = { nowMs: () => performance.now(), sleep: systemClock.sleep }

/**
 * Works all queues with a prefix, or the named ones, directly on the table, until the signal is aborted: for a
 * process that runs all the time. For a function that EventBridge calls, use `consumer`.
 */
export const consumeMany = <T = unknown>(
  queues: Queues,
  which: Which,
  handler: Handler<T>,
  options: ConsumeManyOptions = {},
): Promise<Omit<Counts, 'batches'>> =>
  consumeManyWith(
    {
      queues,
      async list(request) {
        const page = await queues.list({ ...request, detail: true })
        return {
          queues: page.queues.map(standingOf),
          cursor: page.cursor,
        }
      },
      clock,
      random: secureRandom,
      newKey: () => randomText(secureRandom, KEY_CHARACTERS),
      late,
    },
    which,
    handler as Handler,
    options,
  )
