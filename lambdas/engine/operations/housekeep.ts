import { checkQueueId } from '../../foundation/queue-id.ts'
import type { QueueRecord } from '../core/record.ts'
import type { HousekeepReport } from '../verbs.ts'
import { type Engine, readRecord } from './engine.ts'
import { housekeepRecord } from './housekeep-record.ts'
import { buryDead } from './move-dead.ts'

/** Does whatever the record says is due, and leaves a timer where it could not. */
export async function housekeep(engine: Engine, queue: string): Promise<HousekeepReport> {
  checkQueueId(queue)
  return housekeepAll(engine, queue, await readRecord(engine, queue))
}

/** The same for a record that was read; `dropEmpty`: no empty lane is worth keeping. */
export async function housekeepAll(
  engine: Engine,
  queue: string,
  record: QueueRecord | undefined,
  { dropEmpty = false }: { readonly dropEmpty?: boolean } = {},
): Promise<HousekeepReport> {
  const { dropped: _, ...report } = await housekeepRecord(engine, queue, record, {
    dropEmpty,
    bury: buryDead,
  })
  return report
}
