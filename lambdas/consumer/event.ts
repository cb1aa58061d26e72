// The event that wakes a consumer, and the one by which it wakes the next run.

import { isQueueId } from '../foundation/queue-id.ts'

export const CONSUMER_SOURCE = 'pushpop.consumer'
export const RUN_CONTINUED = 'Run Continued'

/** An event of the bus. Only the queue matters, so `{"detail":{"queue":"orders"}}` will do. */
export type ConsumerEvent = {
  readonly 'detail-type'?: string
  readonly detail: { readonly queue: string }
}

export function queueOf(event: unknown): string {
  const queue = ((event ?? {}) as Partial<ConsumerEvent>).detail?.queue
  if (isQueueId(queue)) return queue
  throw new TypeError(
    'Cannot run because the event names no queue: its detail.queue is not a queue id',
  )
}

/** For the consumer of this name only, because others may work on the same queue. */
export const continuation = (queue: string, consumer: string, bus: string, nowMs: number) => ({
  EventBusName: bus,
  Time: new Date(nowMs),
  Source: CONSUMER_SOURCE,
  DetailType: RUN_CONTINUED,
  Detail: JSON.stringify({ queue, consumer }),
})
