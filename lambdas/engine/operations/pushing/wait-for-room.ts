import type { Append } from '../../core/append.ts'
import { LANES_PER_APPEND } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { sealQuietly } from '../lanes/seal.ts'
import { sealLaterQuietly } from '../later/seal-later.ts'

const FULL_WAIT_MS = 50

/** Another process is sealing what is full. `waits` counts this wait and those before it. */
export async function waitForRoom(
  engine: Engine,
  record: QueueRecord,
  full: 'tail-full' | 'scheduled-full',
  waits: number,
  addition: Append,
): Promise<QueueRecord | undefined> {
  await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
  // Still full after a wait: the process that was to seal it may have died.
  if (waits % 2 === 0) {
    await (full === 'tail-full' ? sealQuietly(engine, record) : sealLaterQuietly(engine, record))
  }
  // The next blind append learns what the record is now; a wide one has to read it.
  return addition.lanes.size > LANES_PER_APPEND ? readRecord(engine, record.queue) : record
}
