import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { namedItems } from '../../core/named.ts'
import { purgeNamedStep, purgeStep } from '../../core/purge.ts'
import { checkPriority } from '../../core/push-request.ts'
import type { PurgeRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { gapsOf } from '../attempts/by-id.ts'
import { again, answer, done } from '../attempts/decision.ts'
import { changedAllTheSame, changeOf, type Engine } from '../attempts/engine.ts'
import { leaveDryQuietly } from '../attempts/leave-dry.ts'

/** 2,000 locks at 40 a step and 1,000 lanes at 80 a step, and room for as many lost races. */
const ATTEMPTS_MAX = 120
const HOLDS_FROM = 3
/** Done locks weigh until they are folded, 40 a write; the record has some 40 of them at most. */
const FOLDS_MAX = 12

export async function purge(
  engine: Engine,
  queue: string,
  { priority, ids }: PurgeRequest = {},
): Promise<{ itemsPurged: number }> {
  checkQueueId(queue)
  if (ids !== undefined) return purgeNamed(engine, queue, ids, priority)
  if (priority !== undefined) checkPriority(priority, 'priority')
  let itemsPurged = 0
  const course = { from: 'store', attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM } as const
  return attempts(engine, queue, course, ({ record, nowMs, losses }) => {
    if (record === undefined) return answer({ itemsPurged })
    const { draft, items, finished } = purgeStep(record, priority, nowMs)
    if (draft === record) return answer({ itemsPurged })
    const change = changeOf(engine, record, draft, {
      nowMs,
      // A claim that it has not seen would keep a lock on items that are gone.
      guards: { claims: true },
      setsDry: engine.events && losses === 0,
    })
    return {
      kind: 'write',
      change,
      async landed(after) {
        itemsPurged += items
        if (!finished) return again(after)
        await leaveDryQuietly(engine, after)
        return done({ itemsPurged })
      },
    }
  }).catch((error: unknown) => {
    throw itemsPurged > 0 ? changedAllTheSame(error) : error
  })
}

/** These items and no others, whether they wait or are locked. */
async function purgeNamed(
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
  const course = {
    from: 'store',
    attemptsMax: ATTEMPTS_MAX,
    extrasMax: FOLDS_MAX,
    holdsFrom: HOLDS_FROM,
  } as const
  return attempts(engine, queue, course, ({ record, nowMs, losses }) => {
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
        return items.length < named.length ? again(after) : done({ itemsPurged })
      },
    }
  }).catch((error: unknown) => {
    throw itemsPurged > 0 ? changedAllTheSame(error) : error
  })
}
