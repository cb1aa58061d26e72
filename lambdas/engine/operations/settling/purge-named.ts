import { QueueError } from '../../../foundation/errors.ts'
import { namedItems } from '../../core/named.ts'
import { purgeNamedStep } from '../../core/purge-named.ts'
import { attempts } from '../attempts/attempts.ts'
import { byIdCourse, gapsOf } from '../attempts/by-id.ts'
import { again, answer, asStored, done } from '../attempts/decision.ts'
import { changedAllTheSame, changeOf, type Engine } from '../attempts/engine.ts'
import { leaveDryQuietly } from '../attempts/leave-dry.ts'

/** Purges only these items, whether they wait or are locked. */
export async function purgeNamed(
  engine: Engine,
  queue: string,
  ids: readonly string[],
  priority: number | undefined,
): Promise<{ itemsPurged: number }> {
  if (priority !== undefined) {
    const message = 'ids cannot go with priority: name the items, or the priority that they have'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'ids' })
  }
  const named = namedItems(ids)
  let itemsPurged = 0
  return attempts(engine, queue, byIdCourse, ({ record, nowMs, losses }) => {
    if (record === undefined) return answer({ itemsPurged })
    const { draft, items } = purgeNamedStep(record, named, nowMs)
    if (items.length === 0) return answer({ itemsPurged })
    const gaps = gapsOf(engine, record, draft, nowMs)
    if ('instead' in gaps) return gaps.instead
    const setsDry = engine.events && losses === 0
    return {
      kind: 'write',
      change: changeOf(engine, record, draft, { nowMs, guards: gaps.guards, setsDry }),
      async landed(after) {
        itemsPurged += items.length
        await leaveDryQuietly(engine, after)
        return items.length < named.length ? again(asStored(after)) : done({ itemsPurged })
      },
    }
  }).catch((error: unknown) => {
    throw itemsPurged > 0 ? changedAllTheSame(error) : error
  })
}
