import { QueueError } from '../../../foundation/errors.ts'
import type { QueueRecord } from '../../core/record.ts'

/** A push larger than the whole capacity never fits, however long its caller waits. */
export function queueFull(
  { queue, configuration: { capacity } }: QueueRecord,
  items: number,
): QueueError {
  if (capacity !== undefined && items > capacity) {
    return new QueueError(
      'QUEUE_FULL',
      `Cannot push more than ${capacity} items at once to queue "${queue}" because that is its capacity; push them in parts`,
      { isFinal: true },
    )
  }
  return new QueueError(
    'QUEUE_FULL',
    `Cannot push to queue "${queue}" because it would hold more than its capacity of ${capacity} items`,
  )
}
