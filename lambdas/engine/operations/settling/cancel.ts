import { forOneWriteOf, stretchesOfNamed, takeOut } from '../../core/named.ts'
import type { CancelResult } from '../../verbs.ts'
import { eachById, gapsOf } from '../attempts/by-id.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'

/** Takes items that wait out of the queue for good: one write, which reads nothing but the record. */
export async function cancel(
  engine: Engine,
  queue: string,
  ids: readonly string[],
): Promise<CancelResult[]> {
  const results = await eachById<'cancelled'>(engine, queue, ids, (taking) => {
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
  return ids.map((id, index) => ({ id, result: results[index] ?? 'gone' }))
}
