import { DONE_LOCKS_FOLD, DONE_LOCKS_STEP } from '../../core/limits.ts'
import { doneLocks, foldDone } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { commit } from './commit.ts'
import { changeOf, type Engine, readRecord } from './engine.ts'

/**
 * The next fenced write folds acknowledged locks into head and holes. If all pops are claims, no such
 * write comes, so the acknowledge whose lock is the 16th (the 24th, …) folds them: as with sealing,
 * exactly one crosses each line, and if it fails, no answer changes.
 */
export async function foldAfter(engine: Engine, record: QueueRecord): Promise<void> {
  const done = doneLocks(record)
  if (done < DONE_LOCKS_FOLD || (done - DONE_LOCKS_FOLD) % DONE_LOCKS_STEP !== 0) return
  await fold(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'fold' })
  })
}

/**
 * Folds now, because the items of acknowledged locks take up room in a bounded queue. However this
 * ends, the push looks at the record and tries again.
 */
export async function foldForRoom(
  engine: Engine,
  record: QueueRecord,
): Promise<QueueRecord | undefined> {
  await tryToFold(engine, record)
  return readRecord(engine, record.queue)
}

/** Returns whether the store answered; others may have been first. */
export const tryToFold = (engine: Engine, record: QueueRecord): Promise<boolean> =>
  fold(engine, record).then(
    () => true,
    (error: unknown) => {
      engine.onBackgroundError(error, { queue: record.queue, step: 'fold' })
      return false
    },
  )

async function fold(engine: Engine, record: QueueRecord): Promise<void> {
  const nowMs = engine.clock.nowMs()
  const draft = foldDone(record, nowMs)
  await commit(engine, changeOf(engine, record, draft, { nowMs }))
}
