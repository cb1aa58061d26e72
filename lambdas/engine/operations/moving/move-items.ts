import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, ID_RULE, isQueueId, whyNot } from '../../../foundation/queue-id.ts'
import { idsByForm } from '../../core/named.ts'
import { checkDueMs, checkPriority } from '../../core/push-request.ts'
import type { MoveRequest, MoveResult } from '../../verbs.ts'
import { changedAllTheSame, type Engine } from '../attempts/engine.ts'
import { rescheduled } from '../later/cancel-scheduled.ts'
import { cannotMove } from './move.ts'
import { moveWaiting } from './move-waiting.ts'

/** Moves items by their ids, each for itself: those that wait in a lane stay waiting, and scheduled ones scheduled. */
export async function moveItems(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  checkQueueId(queue)
  const { ids, priority, queue: to, deliverAtMs: dueMs } = request
  const { waiting, scheduled } = idsByForm(ids)
  checkTarget(engine, request, waiting)
  const results = new Map<string, MoveResult>()
  const place = { dueMs, priority, queue: to }
  const newIds = await rescheduled(engine, queue, scheduled, place).catch((error: unknown) => {
    throw to === undefined ? error : cannotMove('scheduled items', queue, to, error)
  })
  for (const [id, newId] of newIds) results.set(id, { id, result: 'moved', newId })
  if (waiting.length > 0) {
    const moved = await moveWaiting(engine, queue, { ...request, ids: waiting }).catch(
      (error: unknown) => {
        throw newIds.size > 0 ? changedAllTheSame(error) : error
      },
    )
    for (const one of moved) results.set(one.id, one)
  }
  return ids.map((id) => results.get(id) ?? { id, result: 'gone' })
}

function checkTarget(
  { clock }: Engine,
  { ids, priority, queue, deliverAtMs }: MoveRequest,
  waiting: readonly string[],
): void {
  if (priority === undefined && queue === undefined && deliverAtMs === undefined) {
    const message = 'priority, queue or deliver_at is missing: where the items are to go'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'priority' })
  }
  if (priority !== undefined) checkPriority(priority, 'priority')
  if (queue !== undefined && !isQueueId(queue)) {
    const message = `queue must be ${ID_RULE}${whyNot(queue)}`
    throw new QueueError('INVALID_QUEUE_ID', message, { field: 'queue' })
  }
  if (deliverAtMs === undefined) return
  checkDueMs(deliverAtMs, clock.nowMs(), 'deliver_at')
  const [first] = waiting
  if (first === undefined) return
  const which = `ids[${ids.indexOf(first)}]`
  const message = `deliver_at is for scheduled items, and ${which} is one that joined its queue or was never scheduled`
  throw new QueueError('INVALID_PARAMETER', message, { field: 'deliver_at' })
}
