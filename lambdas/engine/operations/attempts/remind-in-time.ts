import { QueueError } from '../../../foundation/errors.ts'
import { recordKey } from '../../core/keys.ts'
import type { QueueRecord } from '../../core/record.ts'
import { isTooFar } from '../../core/reminder.ts'
import { checkAtUpdate } from '../../store/timer-update.ts'
import { type Engine, remindAtMs, seen } from './engine.ts'

/**
 * An append starts a timer only if there is none, and cannot know how far away the one that is there may be: an item
 * may be due in a year, and an empty queue of the inbox is kept for two weeks. So whoever appends brings such a timer
 * near with another write, before it or after. If that does not come about, the daily walk does it (`start-timers.ts`).
 */
export async function remindInTime(engine: Engine, record: QueueRecord): Promise<void> {
  const { queue } = record
  const atMs = remindAtMs(engine)
  const nowMs = engine.clock.nowMs()
  if (atMs === undefined || !isTooFar(record, nowMs)) return
  try {
    const update = checkAtUpdate(record, atMs, nowMs)
    const written = await engine.dynamo.update(recordKey(queue), update)
    // If the timer has moved meanwhile, somebody else has seen to it.
    if (written.kind !== 'unknown') seen(engine, queue, written.row)
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    engine.onBackgroundError(error, { queue, step: 'start-timer' })
  }
}
