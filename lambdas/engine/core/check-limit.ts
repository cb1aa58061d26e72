import { QueueError } from '../../foundation/errors.ts'

/** How many a call may ask for at once: of items, or of queues. */
export function checkLimit(limit: number, max: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return
  throw new QueueError('INVALID_PARAMETER', `limit must be an integer from 1 to ${max}`, {
    field: 'limit',
  })
}
