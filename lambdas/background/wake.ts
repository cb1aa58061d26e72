// One run of Wake: it stays awake until nothing comes due soon. If another run is awake, it leaves a note for that
// one and ends.

import type { Clock } from '../../aws/dynamo.ts'
import { createEngine } from '../../engine/create-engine.ts'
import type { Queues, WakeReport } from '../../engine/queues.ts'
import { wake } from '../../engine/upkeep/wake.ts'
import { systemClock } from '../../shared/system.ts'
import type { Environment, Fields, Log, Run } from '../runtime/log.ts'
import { documentsFromEnvironment, objectsWhenNeeded, queuesOptions } from '../runtime/stores.ts'
import type { WakeEvent } from './call-wake.ts'

/**
 * Loads only the parts of the engine that end locks, run schedules and join items, so it starts sooner. It loads S3
 * when a join first needs it.
 */
export function createWake(environment: Environment, log: Log): Pick<Queues, 'wake'> {
  const options = queuesOptions(environment, log, documentsFromEnvironment(), objectsWhenNeeded())
  const engine = createEngine(options)
  return { wake: (request) => wake(engine, request) }
}

/** As for the sweeper: the last request may take 3 s, and then it writes its line to the log. */
const LEAVE_MS = 10_000

type WakeSummary = {
  readonly left: boolean
  readonly looks: number
  readonly queues: number
  readonly items_returned: number
  /** Items that schedules pushed. */
  readonly occurrences_pushed: number
  readonly failed: number
  readonly lag_seconds: number
}

export async function wakeRun(
  queues: Pick<Queues, 'wake'>,
  event: WakeEvent | undefined,
  { tally, remainingMs }: Run,
  clock: Clock = systemClock,
): Promise<{ readonly answer: WakeSummary; readonly fields: Fields; readonly failed: boolean }> {
  const untilMs = Number(event?.untilMs)
  const request = {
    ...(Number.isFinite(untilMs) && { untilMs }),
    ...(event?.takesOver === true && { takesOver: true }),
    deadlineMs: clock.nowMs() + remainingMs() - LEAVE_MS,
  }
  const report: WakeReport = await queues.wake(request).catch((error: unknown) => {
    tally.count('SweepFailures', 1)
    throw error
  })
  const answer: WakeSummary = {
    left: report.left,
    looks: report.looks,
    queues: report.queues,
    items_returned: report.itemsReturned,
    occurrences_pushed: report.occurrencesPushed,
    failed: report.failed,
    lag_seconds: report.lagMs / 1000,
  }
  tally.count('ItemsPushed', answer.occurrences_pushed)
  tally.count('ItemsReturned', answer.items_returned)
  tally.count('SweepFailures', answer.failed)
  if (answer.items_returned > 0 || answer.lag_seconds > 0) {
    tally.metrics.set('LockReturnLag', answer.lag_seconds)
  }
  return { answer, fields: answer, failed: answer.failed > 0 }
}
