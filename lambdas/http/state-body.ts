// A queue's state as the API answers it, whole and in the list. The command line gives the same answers.

import type { QueueState, QueueSummary } from '../../engine/queues.ts'
import { seconds } from './answer.ts'

/** The whole state; the configuration is a field beside it. */
export const stateBody = (state: Omit<QueueState, 'configuration' | 'etag'>) => ({
  id: state.queue,
  version: state.version,
  count: state.count,
  locked_count: state.lockedCount,
  waiting_count: state.waitingCount,
  ...blockedField(state),
  dead_count: state.deadCount,
  scheduled_count: state.scheduledCount,
  next_due_at: state.nextDueMs === undefined ? undefined : seconds(state.nextDueMs),
  ...oldestField(state),
  priorities: state.lanes.map((lane) => ({
    priority: lane.priority,
    count: lane.count,
    head_segment: lane.headSegment,
    tail_segment: lane.tailSegment,
    head_offloaded_segment: lane.headOffloadedSegment ?? null,
    tail_offloaded_segment: lane.tailOffloadedSegment ?? null,
    epoch: lane.epoch,
    segment_size: lane.segmentSize,
    head: lane.head,
    frontier: lane.frontier,
    sealed: lane.sealed,
    end: lane.end,
    stored: lane.stored,
  })),
  locks: state.locks.map(({ expiresAtMs, count, priorities }) => ({
    lock_expires_at: seconds(expiresAtMs),
    count,
    priorities,
  })),
})

/** A queue in the list. `undefined` is left out of the answer. */
export const summaryBody = ({ queue, count, detail }: QueueSummary) => ({
  id: queue,
  count,
  locked_count: detail?.lockedCount,
  waiting_count: detail?.waitingCount,
  ...(detail && blockedField(detail)),
  dead_count: detail?.deadCount,
  scheduled_count: detail?.scheduledCount,
  priorities: detail?.lanes,
})

const blockedField = ({ blockedUntilMs }: Pick<QueueState, 'blockedUntilMs'>) =>
  blockedUntilMs === undefined ? {} : { blocked_until: seconds(blockedUntilMs) }

/** `null`: no item waits. Left out: finding out would take more reads, which the caller did not ask for. */
function oldestField({ oldestPushedAtMs, count }: Pick<QueueState, 'oldestPushedAtMs' | 'count'>) {
  if (oldestPushedAtMs !== undefined) return { oldest_pushed_at: seconds(oldestPushedAtMs) }
  return count === 0 ? { oldest_pushed_at: null } : {}
}
