import { createHash } from 'node:crypto'
import { countOf } from '../../engine/core/ranges.ts'
import { isDone, itemsIn, lanesInOrder, type QueueRecord } from '../../engine/core/record.ts'
import { isRetry } from '../../engine/core/retry.ts'
import { type Transition, transitionsOf } from '../../engine/core/transitions.ts'
import { visibleIn } from '../../engine/core/views.ts'
import { deadLetterQueueOf } from '../../foundation/queue-id.ts'
import type { EventEntry } from '../../runtime/put-events.ts'
import { detailTypes, EVENT_SOURCE } from './event-names.ts'
import type { Images } from './images.ts'

/** A queue may have a thousand, but people read events, and AWS bills each 64 KB of one. */
const PRIORITIES_MAX = 20

/** The events of one write: what it did, and how it left the queue. Never an item, never a lock's id. */
export function entriesOf(
  bus: string,
  { writeId, atMs, before, after }: Extract<Images, { kind: 'write' }>,
): EventEntry[] {
  const transitions = transitionsOf(before, after)
  if (transitions.length === 0) return []
  const state = stateOf(after)
  return transitions.map((transition, index) => ({
    EventBusName: bus,
    Source: EVENT_SOURCE,
    DetailType: detailTypes[transition.kind],
    Time: new Date(atMs),
    Detail: JSON.stringify({
      id: eventId(writeId, transition.kind, index),
      queue: after.queue,
      version: after.version,
      at: new Date(atMs).toISOString(),
      ...state,
      ...ownDetail(after.queue, transition),
    }),
  }))
}

function ownDetail(queue: string, transition: Transition): object {
  switch (transition.kind) {
    case 'items-available':
    case 'queue-drained':
      return {}
    case 'lock-expired': {
      const counts = [...transition.priorities].sort(([a], [b]) => a - b)
      const first = counts.slice(0, PRIORITIES_MAX).map(([p, count]) => [p, { count }] as const)
      return { items: transition.items, lock_priorities: Object.fromEntries(first) }
    }
    case 'item-dead-lettered':
      return {
        priority: transition.priority,
        items: transition.items,
        reason: transition.reason,
        dead_letter_queue: deadLetterQueueOf(queue),
      }
    default:
      return transition satisfies never
  }
}

/** Counts as the API does: locked items are in the queue, dead ones are not. */
function stateOf(record: QueueRecord) {
  const locked = lockedByPriority(record)
  const counts = lanesInOrder(record)
    .map(([p, lane]) => [p, countOf(visibleIn(record, lane))] as const)
    .filter(([, count]) => count > 0)
  const priorities = counts
    .slice(0, PRIORITIES_MAX)
    .map(([p, count]) => [p, { count, locked: locked.get(p) ?? 0 }])
  return {
    count: counts.reduce((sum, [, count]) => sum + count, 0),
    locked: [...locked.values()].reduce((sum, items) => sum + items, 0),
    priorities: Object.fromEntries(priorities),
    ...(counts.length > PRIORITIES_MAX && { more_priorities: true }),
  }
}

/** Items in locks that have not ended, even if their time is over: there is no clock here. */
function lockedByPriority(record: QueueRecord): ReadonlyMap<number, number> {
  const locked = new Map<number, number>()
  for (const [lockId, lock] of record.locks) {
    if (isDone(lock) || isRetry(lockId)) continue
    for (const stretch of lock.stretches) {
      locked.set(stretch.priority, (locked.get(stretch.priority) ?? 0) + itemsIn([stretch]))
    }
  }
  return locked
}

/** Made from the write and the event's place in it: a repetition gets the same id, and no other event does. */
const eventId = (writeId: string, kind: Transition['kind'], index: number): string =>
  createHash('sha256').update(`${writeId} ${kind} ${index}`).digest('hex').slice(0, 32)
