// A function that works queues: `export const handler = consumer(async (items) => …)`.

import { isDeadLetterQueue } from '../foundation/queue-id.ts'
import { type Clock, secureRandom, systemClock } from '../foundation/system.ts'
import { countPopped } from '../runtime/count-popped.ts'
import { logsOf } from '../runtime/environment.ts'
import { type InvocationContext, remainingMsOf, stopwatch } from '../runtime/invocation.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { createServices } from '../runtime/services.ts'
import { currentTally, Tally, usageOf, withTally } from '../runtime/tally.ts'
import { callNextOn } from './call-next.ts'
import { checkHandler, type Handler } from './core/handler.ts'
import { type Counts, type Ending, noCounts } from './core/run.ts'
import type { Edge, Engine } from './edge.ts'
import { type ConsumerEvent, queueOf } from './event.ts'
import { runQueue } from './run-queue.ts'
import { type ConsumerOptions, settingsOf, variables } from './settings.ts'

export type { InvocationContext as RunContext } from '../runtime/invocation.ts'
export { consumeMany } from './consume-many.ts'
export type { Handler, HandlerContext, HandlerResult } from './core/handler.ts'
export type { Item } from './core/item.ts'
export type { ConsumeManyOptions } from './core/many-options.ts'
export type { AgainOptions, Duration } from './core/retry.ts'
export type { Ending } from './core/run.ts'
export type { ConsumerEvent } from './event.ts'
export type { ConsumerOptions } from './settings.ts'

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
