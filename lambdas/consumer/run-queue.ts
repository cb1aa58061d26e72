import { randomText } from '../foundation/random-text.ts'
import { describeError } from '../runtime/log.ts'
import type { Handler } from './core/handler.ts'
import { END_MS, mayTakeMore } from './core/pace.ts'
import { type Counts, type Ending, endings, type Run } from './core/run.ts'
import type { Settings } from './core/settings.ts'
import { comesBackFirst, work } from './core/worker.ts'
import { type Edge, late } from './edge.ts'
import { troublesTo } from './troubles.ts'

/** 132 bits, which nobody can guess. */
export const KEY_CHARACTERS = 22

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
    timeOver: over.signal,
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
  // Call the next run only now that no lock is left: if it began sooner, it would find ours and leave the queue to us.
  if (ending === 'continued') await callNext(queue)
  return ending
}
