import { QueueError } from '../../../foundation/errors.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { ItemsRead } from '../../store/items.ts'
import type { Decision } from './decision.ts'
import { type Engine, readRecord } from './engine.ts'

const MISSING_MAX = 3
/** Reads in all, while housekeeping moves the items from one place to another. */
const READS_MAX = 24

/**
 * Counts reads that found items missing although the record, at the same version, says that they are there.
 * If the version has moved, housekeeping has moved the items, as it may at each segment of a long read:
 * that does not count.
 */
export class MissingItems {
  #found = 0

  /** The record as it is now, to go on with. */
  async lookAgain(
    engine: Engine,
    queue: string,
    record: QueueRecord | undefined,
  ): Promise<QueueRecord | undefined> {
    const current = await readRecord(engine, queue)
    if (current?.born === record?.born && current?.version === record?.version) {
      this.#found += 1
      if (record !== undefined) engine.items.stillThere(record)
    }
    if (this.#found === MISSING_MAX) throw unreadable(queue)
    return current
  }
}

/** The items that a step needs. If it can do without them, an error is reported, and the answer is undefined. */
export async function readFor<T>(
  { items, onBackgroundError }: Engine,
  record: QueueRecord,
  { stretches, bytesMax, orElse }: Extract<Decision<T>, { kind: 'read' }>,
): Promise<ItemsRead | undefined> {
  try {
    return await items.read(record, stretches, bytesMax)
  } catch (error) {
    if (orElse === undefined || !(error instanceof QueueError)) throw error
    onBackgroundError(error, { queue: record.queue, step: 'read' })
    return undefined
  }
}

export const unreadable = (queue: string): QueueError =>
  new QueueError(
    'SEGMENT_UNAVAILABLE',
    `Cannot read the next items of queue "${queue}" at the moment; nothing was passed over`,
  )

/** For verbs that only read: they can lose no race, so they never pause. */
export const readingCourse = (queue: string) => ({
  attemptsMax: READS_MAX,
  pausesFrom: Number.POSITIVE_INFINITY,
  exhausted(): never {
    throw unreadable(queue)
  },
})
