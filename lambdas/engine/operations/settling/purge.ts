import { checkQueueId } from '../../../foundation/queue-id.ts'
import { purgeStep } from '../../core/purge.ts'
import { checkPriority } from '../../core/push-request.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { PurgeRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, asStored, done } from '../attempts/decision.ts'
import { changedAllTheSame, changeOf, type Engine } from '../attempts/engine.ts'
import { leaveDryQuietly } from '../attempts/leave-dry.ts'
import { dropPurgedQuietly, ScheduledPurge, tooManyPurges } from '../later/purge-scheduled.ts'
import { purgeNamed } from './purge-named.ts'

/** 2,000 locks at 40 a step and 1,000 lanes at 80 a step, and room for as many lost races. */
const ATTEMPTS_MAX = 120
const HOLDS_FROM = 3

export async function purge(
  engine: Engine,
  queue: string,
  { priority, ids }: PurgeRequest = {},
): Promise<{ itemsPurged: number }> {
  checkQueueId(queue)
  if (ids !== undefined) return purgeNamed(engine, queue, ids, priority)
  if (priority !== undefined) checkPriority(priority, 'priority')
  let itemsPurged = 0
  const scheduled = new ScheduledPurge(engine)
  let last: QueueRecord | undefined
  const purgedSoFar = () => ({ itemsPurged: itemsPurged + scheduled.items })
  const course = { from: 'store', attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM } as const
  const purged = await attempts(engine, queue, course, ({ record, nowMs, losses }) => {
    last = record
    if (record === undefined) return answer(purgedSoFar())
    if (priority === undefined && record.scheduled.items > 0 && !scheduled.isOver) {
      return act(() => scheduled.attempt(engine, record))
    }
    const { draft, items, finished } = purgeStep(record, priority, nowMs)
    if (draft === record) return answer(purgedSoFar())
    const change = changeOf(engine, record, draft, {
      nowMs,
      // Otherwise a claim that the purge has not seen would keep a lock on items that are gone.
      guards: { claims: true },
      setsDry: engine.events && losses === 0,
    })
    return {
      kind: 'write',
      change,
      async landed(after) {
        itemsPurged += items
        if (!finished) return again(asStored(after))
        await leaveDryQuietly(engine, after)
        return done(purgedSoFar())
      },
    }
  }).catch((error: unknown) => {
    throw purgedSoFar().itemsPurged > 0 ? changedAllTheSame(error) : error
  })
  if (priority === undefined) await dropPurgedQuietly(engine, last)
  if (scheduled.isTooMuch) {
    const error = tooManyPurges(queue)
    throw purged.itemsPurged > 0 ? changedAllTheSame(error) : error
  }
  return purged
}
