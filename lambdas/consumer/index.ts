// A function that works queues: `export const handler = consumer(async (items) => …)`.

import type { Clock } from '../../aws/dynamo.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { secureRandom, systemClock } from '../../shared/system.ts'
import {
  type Counts,
  checkHandler,
  type Ending,
  type Handler,
  noCounts,
} from '../../shared/worker/run.ts'
import {
  countPopped,
  currentTally,
  describeError,
  type InvocationContext,
  type Log,
  logsOf,
  remainingMsOf,
  stopwatch,
  Tally,
  usageOf,
  withTally,
} from '../runtime/log.ts'
import { createServices } from '../runtime/services.ts'
import { callNextOn, type Edge, type Engine, runQueue } from './run-queue.ts'
import {
  type ConsumerEvent,
  type ConsumerOptions,
  queueOf,
  settingsOf,
  variables,
} from './settings.ts'

export type { AgainOptions, Duration } from '../../shared/worker/retries.ts'
export type {
  Ending,
  Handler,
  HandlerContext,
  HandlerResult,
  Item,
} from '../../shared/worker/run.ts'
export type { ConsumeManyOptions } from '../../shared/worker/which-queues.ts'
export type { InvocationContext as RunContext } from '../runtime/log.ts'
export { consumeMany } from './run-queue.ts'
export type { ConsumerEvent, ConsumerOptions } from './settings.ts'

/** What a run did: its log line, and its answer to a call by hand. */
export type RunReport = Readonly<Counts> & {
  readonly queue: string
  /** `ignored`: a dead-letter queue that happens to have the prefix. */
  readonly ended: Ending | 'ignored'
}

/** The function's handler: EventBridge calls it when there are items, and it calls yours with them. */
export function consumer<T = unknown>(
  handler: Handler<T>,
  options: ConsumerOptions = {},
): (event: ConsumerEvent, context?: InvocationContext) => Promise<RunReport> {
  checkHandler(handler)
  const { env } = process
  const settings = settingsOf(options, env)
  const logFor = logsOf(env)
  let made: Edge | undefined
  // We make it at the first event, because a test may import the handler without having a table.
  const edge = (clock: Clock, log: Log): Edge => {
    if (made?.clock === clock && made.log === log) return made
    made = {
      queues: counted(createServices(env, log, clock)),
      clock,
      random: secureRandom,
      log,
      callNext: callNextOn(env, clock),
    }
    return made
  }

  return async (event, context = {}) => {
    const queue = queueOf(event)
    const counts = noCounts()
    if (isDeadLetterQueue(queue) && env[variables.deadLetters] === 'no') {
      return { queue, ended: 'ignored', ...counts }
    }
    const log = logFor(context)
    const tally = new Tally()
    const durationMs = stopwatch()
    const finish = (level: 'info' | 'error', fields: object): void => {
      tally.count('ItemsAcknowledged', counts.acknowledged)
      tally.count('ItemsReturned', counts.released)
      tally.count('ItemsDeadLettered', counts.deadLettered)
      const used = {
        request_id: context.awsRequestId,
        duration_ms: durationMs(),
        queue,
        batches: counts.batches,
        acknowledged: counts.acknowledged,
        released: counts.released,
        dead_lettered: counts.deadLettered,
        ...usageOf(tally),
      }
      log.invocation(level, 'run', { ...used, ...fields }, tally, Date.now())
    }
    const remainingMs = remainingMsOf(context)
    return withTally(tally, async () => {
      try {
        const request = {
          queue,
          settings,
          handler: handler as Handler,
          counts,
          remainingMs,
        }
        const ended = await runQueue(request, edge(context.clock ?? systemClock, log))
        finish('info', { ended })
        return { queue, ended, ...counts }
      } catch (error) {
        finish('error', { error: describeError(error) })
        throw error
      }
    })
  }
}

/** Counts pops as the HTTP API does; the alarm for items that wait too long reads these metrics. */
const counted = (queues: Engine): Engine => ({
  ...queues,
  async pop(queue, request) {
    const popped = await queues.pop(queue, { ...request, forConsumer: true })
    const tally = currentTally()
    if (tally !== undefined) countPopped(tally, popped)
    return popped
  },
})
