import { checkQueueId } from '../../../foundation/queue-id.ts'
import { forOneWriteOf, idsByForm, stretchesOfNamed, takeOut } from '../../core/named.ts'
import type { CancelResult } from '../../verbs.ts'
import { eachById, gapsOf } from '../attempts/by-id.ts'
import { changedAllTheSame, changeOf, type Engine } from '../attempts/engine.ts'
import { cancelScheduled } from '../later/cancel-scheduled.ts'

/**
 * Removes waiting items for good, with one write that needs nothing but the record. Another write removes scheduled
 * ones.
 */
export async function cancel(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<CancelResult[]> {
  checkQueueId(queue)
  const { waiting, scheduled } = idsByForm(ids)
  const results = new Map<string, CancelResult['result']>()
  const isCancelled = await cancelScheduled(engine, queue, scheduled)
  for (const id of isCancelled) results.set(id, 'cancelled')
  const others = await cancelWaiting(engine, queue, waiting).catch((error: unknown) => {
    throw isCancelled.size > 0 ? changedAllTheSame(error) : error
  })
  for (const [index, id] of waiting.entries()) results.set(id, others[index] ?? 'gone')
  return ids.map((id) => ({ id, result: results.get(id) ?? 'gone' }))
}

async function cancelWaiting(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<CancelResult['result'][]> {
  if (ids.length === 0) return []
  return eachById<'cancelled'>(engine, queue, ids, (taking) => {
    const { record, view } = taking
    const { nowMs } = view
    const items = forOneWriteOf(record, taking.waiting)
    const draft = takeOut(record, stretchesOfNamed(items), nowMs)
    const gaps = gapsOf(engine, record, draft, nowMs)
    if ('instead' in gaps) return gaps.instead
    const setsDry = engine.events && view.losses === 0
    const cancelled = new Map(items.map(({ id }) => [id, 'cancelled'] as const))
    return {
      kind: 'write',
      change: changeOf(engine, record, draft, { nowMs, guards: gaps.guards, setsDry }),
      landed: (after) => taking.taken(cancelled, after),
    }
  })
}
