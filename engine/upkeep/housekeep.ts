// Housekeeping of one queue, as a caller asks for it: that of its record, the dead items that move to their own queue,
// and the rows of purged items. What it cannot do now keeps a timer. If dead items could not move, a process remembers
// that for a while, because only a change of the other queue or of S3 can help.

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import type { HousekeepReport } from '../core/housekeeping.ts'
import { HOUSEKEEPING_RETRY_MS } from '../core/limits.ts'
import type { QueueRecord } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import { dropPurged } from '../storing/copy-later.ts'
import { housekeepRecord, lookAgain } from '../storing/make-lanes.ts'
import { buryDead, type LanesMoved } from '../storing/move-across.ts'

export type HousekeepRequest = {
  /**
   * Leaves dead items that this process failed to move within the last minute to the sweeper: for a
   * caller that comes with every change of the queue.
   */
  readonly leaveStuck?: boolean | undefined
}

export interface HousekeepingVerbs {
  /** Seals, offloads, recalls, trims and dead-letters what the record says is due. */
  housekeep(queue: string, request?: HousekeepRequest): Promise<HousekeepReport>
}

/** Does the work that the record says is due, and leaves a timer for what it could not do. */
export async function housekeep(
  engine: Engine,
  queue: string,
  { leaveStuck = false }: HousekeepRequest = {},
): Promise<HousekeepReport> {
  checkQueueId(queue)
  const record = await engine.records.read(queue)
  const leavesDead = leaveStuck && wasStuckLately(engine, queue)
  return housekeepAll(engine, queue, record, { leavesDead })
}

const wasStuckLately = (engine: Engine, queue: string): boolean =>
  engine.clock.nowMs() < (engine.stuckUntilMs.get(queue) ?? 0)

/** How long one run deletes rows of purged items: some ten thousand rows. */
const DROP_PURGED_MS = 10_000

/**
 * Does that for a record that was read. `dropEmpty`: drops every empty lane. `leavesDead`: leaves dead items
 * where they are, because moving them failed a moment ago and a timer is set.
 */
export async function housekeepAll(
  engine: Engine,
  queue: string,
  record: QueueRecord | undefined,
  {
    dropEmpty = false,
    leavesDead = false,
  }: { readonly dropEmpty?: boolean; readonly leavesDead?: boolean } = {},
): Promise<HousekeepReport> {
  const { dropped: _, ...report } = await housekeepRecord(engine, queue, record, {
    dropEmpty,
    bury: leavesDead ? undefined : buryAndNote,
  })
  if (record === undefined || record.scheduled.purged.length === 0) return report
  const untilMs = engine.clock.nowMs() + DROP_PURGED_MS
  const isPurged = await dropPurged(engine, record, untilMs).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'purge-scheduled' })
    return false
  })
  if (!isPurged) await lookAgain(engine, queue)
  return { ...report, finished: report.finished && isPurged }
}

async function buryAndNote(engine: Engine, queue: string): Promise<LanesMoved> {
  const moved = await buryDead(engine, queue)
  const { failure } = moved
  const isPassing =
    failure instanceof QueueError && ['STORE_UNAVAILABLE', 'BUSY'].includes(failure.code)
  if (failure === undefined || isPassing) engine.stuckUntilMs.delete(queue)
  else engine.stuckUntilMs.set(queue, engine.clock.nowMs() + HOUSEKEEPING_RETRY_MS)
  return moved
}
