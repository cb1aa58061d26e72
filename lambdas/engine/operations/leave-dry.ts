import { recordKey } from '../core/keys.ts'
import { hasFree } from '../core/marks.ts'
import type { QueueRecord } from '../core/record.ts'
import { dryUpdate } from '../store/dry-update.ts'
import { busy, type Engine, pause, readRecord, seen } from './engine.ts'

/** The mark is refused only when something came in between, and mostly it is still there to be seen. */
const TRIES_MAX = 24

/**
 * Makes sure that a queue with nothing to pop says so in its record, because the next append is an
 * event only then. The write that takes the last item mostly does it by itself; a claim cannot know
 * that it took the last, and a pop that raced with appends did not. Returns the record in which the
 * mark is, or something to pop.
 */
export async function leaveDry(
  engine: Engine,
  record: QueueRecord | undefined,
): Promise<QueueRecord | undefined> {
  let current = record
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    if (!engine.events || current === undefined || current.dry || hasFree(current)) return current
    const { queue } = current
    const written = await engine.dynamo.update(recordKey(queue), dryUpdate(current))
    // Whether a lost answer was a mark, the record tells; setting it twice is once.
    current =
      written.kind === 'unknown'
        ? await readRecord(engine, queue)
        : seen(engine, queue, written.item)
    if (written.kind !== 'done' && attempt > 1) await pause(engine, attempt)
  }
  throw busy(current?.queue ?? '')
}

/**
 * The same after an answer is certain: it fails in silence, but for a report. Returns whether it is
 * known how the queue was left; who is not told so asks again.
 */
export async function leaveDryQuietly(
  engine: Engine,
  record: QueueRecord | undefined,
): Promise<boolean> {
  try {
    await leaveDry(engine, record)
    return true
  } catch (error) {
    engine.onBackgroundError(error, { queue: record?.queue ?? '', step: 'leave-dry' })
    return false
  }
}
