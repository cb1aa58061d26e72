import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, ID_RULE, isQueueId, whyNot } from '../../../foundation/queue-id.ts'
import { idsByForm } from '../../core/named.ts'
import { checkAhead, checkPriority } from '../../core/push-request.ts'
import type { MoveRequest, MoveResult } from '../../verbs.ts'
import { changedAllTheSame, type Engine } from '../attempts/engine.ts'
import { rescheduled } from '../later/cancel-scheduled.ts'
import { cannotMove } from './move.ts'
import { moveWaiting } from './move-waiting.ts'

/**
 * Moves items by their ids, each independently. Waiting items go first, so that scheduled ones come behind them if all
 * get the same time.
 */
export async function moveItems(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  checkQueueId(queue)
  const { ids, priority, queue: to, deliverAtMs: dueMs } = request
  const { waiting, scheduled } = idsByForm(ids)
  checkTarget(engine, request)
  const results = new Map<string, MoveResult>()
  if (waiting.length > 0) {
    const moved = await moveWaiting(engine, queue, { ...request, ids: waiting })
    for (const one of moved) results.set(one.id, one)
  }
  const hasMoved = [...results.values()].some(({ result }) => result === 'moved')
  const place = { dueMs, priority, queue: to }
  const newIds = await rescheduled(engine, queue, scheduled, place).catch((error: unknown) => {
    const named = to === undefined ? error : cannotMove('scheduled items', queue, to, error)
    throw hasMoved ? changedAllTheSame(named) : named
  })
  for (const [id, newId] of newIds) results.set(id, { id, result: 'moved', newId })
  return ids.map((id) => results.get(id) ?? { id, result: 'gone' })
}

function checkTarget({ clock }: Engine, { priority, queue, deliverAtMs }: MoveRequest): void {
  if (priority === undefined && queue === undefined && deliverAtMs === undefined) {
    const message = 'priority, queue or deliver_at is missing: where the items are to go'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'priority' })
  }
  if (priority !== undefined) checkPriority(priority, 'priority')
  if (queue !== undefined && !isQueueId(queue)) {
    const message = `queue must be ${ID_RULE}${whyNot(queue)}`
    throw new QueueError('INVALID_QUEUE_ID', message, { field: 'queue' })
  }
  if (deliverAtMs !== undefined) checkAhead(deliverAtMs, clock.nowMs(), 'deliver_at')
}
