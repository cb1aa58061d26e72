// Works queues with the engine: one queue until the time of a function is over, or many for as long as a process runs.
//
// A run leaves a queue only when an event will bring another, or after it has called the next one. It calls that only
// once none of its locks is left: a run that began sooner would find them, and leave the queue to us.

import type { Clock } from '../../aws/dynamo.ts'
import type { QueueSummary, Queues } from '../../engine/queues.ts'
import { QueueError } from '../../shared/errors.ts'
import type { LogLevel } from '../../shared/log-levels.ts'
import { randomText, secureRandom, systemClock } from '../../shared/system.ts'
import { consumeManyWith } from '../../shared/worker/many.ts'
import { END_MS, mayTakeMore, TROUBLES_MAX } from '../../shared/worker/retries.ts'
import {
  type Counts,
  type Ending,
  endings,
  type Handler,
  type Item,
  type Run,
  type Settings,
  type Trouble,
} from '../../shared/worker/run.ts'
import type { ConsumeManyOptions, Standing, Which } from '../../shared/worker/which-queues.ts'
import { comesBackFirst, work } from '../../shared/worker/worker.ts'
import { describeError, type Environment, type Fields, type Log, required } from '../runtime/log.ts'
import type { EventsPort } from '../runtime/put-events.ts'
import { continuation, variables } from './settings.ts'

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

type RunRequest = {
  readonly queue: string
  readonly settings: Settings
  readonly handler: Handler
  readonly counts: Counts
  remainingMs(): number
}

/**
 * Works a queue until nothing is left to do or the time is over. It looks at the queue, not at the event,
 * so it does not matter how often and in which order events come. Once every worker has ended, it throws
 * an error that trying again could not fix.
 */
export async function runQueue(request: RunRequest, edge: Edge): Promise<Ending> {
  const { queue, settings, remainingMs } = request
  const { clock, random, callNext } = edge
  if (remainingMs() <= END_MS) {
    throw new Error(
      `Cannot work the queue "${queue}" because the function has ${remainingMs()} ms left, and ends a run ${END_MS} ms before its time is over: give it a longer timeout`,
    )
  }
  const over = new AbortController()
  const ended = new AbortController()
  const working = new Set<Promise<void>>()
  const reached: Ending[] = []
  const failures: unknown[] = []

  const run: Run = {
    ...request,
    edge: {
      queues: edge.queues,
      clock,
      random,
      newKey: () => randomText(random, KEY_CHARACTERS),
      report: troublesTo(edge.log, queue),
      late,
    },
    hurry: over.signal,
    timeOver: over.signal,
    troublesMax: TROUBLES_MAX,
    longestMs: 0,
    mayTakeMore: () => mayTakeMore(remainingMs(), run.longestMs),
    foundPlenty: () => start(false),
  }
  function start(comesBack: boolean): void {
    if (working.size >= settings.locks || failures.length > 0) return
    const worker = work(run, comesBack)
      .then((ending) => void reached.push(ending))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => working.delete(worker))
    working.add(worker)
  }
  const timer = clock.sleep(Math.max(0, remainingMs() - END_MS), ended.signal).then(() => {
    if (!ended.signal.aborted) over.abort(new Error('The time of the function is nearly over'))
  })

  try {
    start(await comesBackFirst(run))
    while (working.size > 0) await Promise.all(working)
  } finally {
    ended.abort()
    await timer
  }
  for (const error of failures.slice(1)) {
    edge.log.write('error', 'worker failed', { queue, error: describeError(error) })
  }
  if (failures.length > 0) throw failures[0]
  const ending = endings.findLast((one) => reached.includes(one)) ?? 'empty'
  if (ending === 'continued') await callNext(queue)
  return ending
}

/** 132 bits, which nobody can guess. */
const KEY_CHARACTERS = 22

/** Logs a line for each trouble of a run, never with an item, whose contents do not belong in a log. */
const troublesTo =
  (log: Log, queue: string) =>
  (trouble: Trouble): void => {
    const [level, message, fields] = lineOf(trouble)
    const error = 'error' in trouble ? { error: describeError(trouble.error) } : {}
    log.write(level, message, { queue, ...fields, ...error })
  }

function lineOf(trouble: Trouble): readonly [LogLevel, string, Fields?] {
  switch (trouble.kind) {
    case 'handler':
      return ['error', 'handler failed', batch(trouble.items)]
    case 'handler-late':
      return ['warn', 'handler runs into the time limit of its function', batch(trouble.items)]
    case 'lock-lost':
      return ['warn', 'lock lost, its items come again']
    case 'answer-late':
      return ['warn', 'the lock had expired before its answer arrived']
    case 'request':
      return ['warn', trouble.what === 'pop' ? 'pop failed' : 'lock not extended yet']
    default:
      throw trouble satisfies never
  }
}

const batch = (items: readonly Item[]) => ({
  items: items.length,
  deliveries: items[0]?.deliveries,
})

export const late = (ms: number): QueueError =>
  new QueueError('STORE_UNAVAILABLE', `No answer came within ${ms} ms`, { outcome: 'unknown' })

/** The run's time is nearly over, so we try only once more if EventBridge throttles the first call. */
const ATTEMPTS_MAX = 2
const PAUSE_MS = 100

/** Puts `Run Continued` on the bus. EventBridge's client is loaded by the few runs that need it. */
export function callNextOn(
  environment: Environment,
  clock: Clock,
  open: () => Promise<EventsPort> = openEventBridge,
): (queue: string) => Promise<void> {
  return async (queue) => {
    const entry = continuation(
      queue,
      required(environment, variables.name),
      required(environment, variables.bus),
      clock.nowMs(),
    )
    const port = await open()
    for (let attempt = 1; ; attempt += 1) {
      const problem = await port.putEvents([entry]).then(
        ([result]) => result?.ErrorCode,
        (error: unknown) => error,
      )
      if (problem === undefined) return
      if (attempt === ATTEMPTS_MAX) {
        throw new Error(`Cannot put ${entry.DetailType} on the bus ${entry.EventBusName}`, {
          cause: problem,
        })
      }
      await clock.sleep(PAUSE_MS)
    }
  }
}

const openEventBridge = async (): Promise<EventsPort> =>
  (await import('../runtime/put-events.ts')).eventBridge()

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
