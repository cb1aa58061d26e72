import { checkQueueId } from '../../../foundation/queue-id.ts'
import { purgeStep } from '../../core/purge.ts'
import { checkPriority } from '../../core/push-request.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { PurgeRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, done, doubt } from '../attempts/decision.ts'
import { changedAllTheSame, changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { leaveDryQuietly } from '../attempts/leave-dry.ts'
import {
  arePurged,
  dropPurgedQuietly,
  purgeScheduled,
  tooManyPurges,
} from '../later/purge-scheduled.ts'
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
  let isScheduledPurged = false
  let isTooMuch = false
  let last: QueueRecord | undefined
  const course = { from: 'store', attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM } as const
  const purged = await attempts(engine, queue, course, ({ record, nowMs, losses }) => {
    last = record
    if (record === undefined) return answer({ itemsPurged })
    if (priority === undefined && record.scheduled.items > 0 && !isScheduledPurged) {
      return act(async () => {
        const purged = await purgeScheduled(engine, record)
        if (purged.kind === 'unknown') {
          return doubt(purged.cause, async () => {
            const after = await readRecord(engine, queue)
            isScheduledPurged = arePurged(record, after)
            if (isScheduledPurged) itemsPurged += record.scheduled.items
            return again(after)
          })
        }
        if (purged.kind === 'done') itemsPurged += purged.items
        isTooMuch = purged.kind === 'too-many'
        // Items scheduled meanwhile came after the purge.
        isScheduledPurged = purged.kind !== 'again'
        return again(await readRecord(engine, queue))
      })
    }
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
  if (priority === undefined) await dropPurgedQuietly(engine, last)
  if (isTooMuch)
    throw itemsPurged > 0 ? changedAllTheSame(tooManyPurges(queue)) : tooManyPurges(queue)
  return purged
}
