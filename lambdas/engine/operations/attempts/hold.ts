import { recordKey } from '../../core/keys.ts'
import { HOLD_MS } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { holdUpdate } from '../../store/lock-updates.ts'
import { type Engine, readRecord, seen } from './engine.ts'

/**
 * Asks claims to stand back for a moment. They do not move the version, so a fenced write that depends
 * on there being none would lose to a steady stream of them for ever; with this it gets its turn.
 */
export async function hold(engine: Engine, record: QueueRecord): Promise<QueueRecord | undefined> {
  // Without locks there were no claims that could be in the way; others may have written meanwhile.
  if (record.locks.size === 0) return readRecord(engine, record.queue)
  const untilMs = engine.clock.nowMs() + HOLD_MS
  const written = await engine.dynamo.update(recordKey(record.queue), holdUpdate(record, untilMs))
  return written.kind === 'unknown'
    ? readRecord(engine, record.queue)
    : seen(engine, record.queue, written.row)
}
