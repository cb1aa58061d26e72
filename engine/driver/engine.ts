// What every operation works with, and the folding of acknowledged locks, which any of them may do.

import type { Clock, Dynamo, Random } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import type { KeptReading, SlotLimiter } from '../../rate/limiter.ts'
import type { BoundedCache } from '../../shared/system.ts'
import { DONE_LOCKS_FOLD, DONE_LOCKS_STEP } from '../core/limits.ts'
import { doneLocks, foldDone } from '../core/locks.ts'
import type { QueueRecord } from '../core/record.ts'
import type { QueuePatterns } from '../core/settings.ts'
import type { ItemReader } from '../requests/item-reader.ts'
import type { SegmentWatch } from '../requests/segment-rows.ts'
import type { Records } from './records.ts'

/** What every operation works with; `createEngine` builds it. */
export type Engine = {
  readonly dynamo: Dynamo
  readonly records: Records
  readonly objects: Objects
  readonly items: ItemReader
  readonly segments: SegmentWatch
  readonly clock: Clock
  readonly random: Random
  /** Remembered records that a push with a key left whose record before was too old: too many other keys had passed. */
  readonly behind: WeakSet<QueueRecord>
  readonly slots: SlotLimiter
  /** Asked when a queue's first record is made. */
  readonly patterns: KeptReading<QueuePatterns>
  readonly idempotencyTtlSeconds: number
  /** Whether writes set the flags from which the stack makes events. */
  readonly events: boolean
  /** After this long, we announce items again that nobody takes; absent without events. */
  readonly remindAfterMs: number | undefined
  /** How many pops may wait at once, in all processes together; undefined means any number. */
  readonly waitingPopsMax: number | undefined
  /** What this engine has seen of their seats. */
  readonly seats: { allTakenUntilMs: number }
  /** Queues whose dead items could not be moved, and until when nothing but a timer makes us try again. */
  readonly stuckUntilMs: BoundedCache<number>
  /** Queues that a sweep is tidying; this may go on after the sweep has answered. */
  readonly tidying: Set<string>
  /** Called with the number of expired items that were taken out of a queue. */
  readonly onItemsExpired: (items: number) => void
  /** Called when work that no answer waits for, such as sealing after a push, has failed. */
  readonly onBackgroundError: (error: unknown, context: { queue: string; step: string }) => void
}

/** The same engine; from this time on its requests to the stores fail, and certainly change nothing. */
export const boundedBy = (engine: Engine, deadlineMs: number): Engine => ({
  ...engine,
  dynamo: engine.dynamo.until(deadlineMs),
  records: engine.records.until(deadlineMs),
  objects: engine.objects.until(deadlineMs),
})

/**
 * The next fenced write folds acknowledged locks into head and holes. If all pops are claims, no such
 * write comes, so the acknowledge whose lock is the 16th (the 24th, …) folds them: as with sealing,
 * exactly one crosses each line, and if it fails, no answer changes.
 */
export async function foldAfter(engine: Engine, record: QueueRecord): Promise<void> {
  const done = doneLocks(record)
  if (done < DONE_LOCKS_FOLD || (done - DONE_LOCKS_FOLD) % DONE_LOCKS_STEP !== 0) return
  await tryToFold(engine, record)
}

/** Folds now. Returns whether the store answered; others may have been first. */
export async function tryToFold(engine: Engine, record: QueueRecord): Promise<boolean> {
  const nowMs = engine.clock.nowMs()
  const draft = foldDone(record, nowMs)
  try {
    await engine.records.commit(engine.records.change(record, draft, { nowMs }))
    return true
  } catch (error) {
    engine.onBackgroundError(error, { queue: record.queue, step: 'fold' })
    return false
  }
}
