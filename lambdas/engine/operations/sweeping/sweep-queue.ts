import { isQuiet } from '../../core/fence.ts'
import { endExpired, foldDone } from '../../core/locks.ts'
import { hasOldNotes } from '../../core/notes.ts'
import { isDone, isExpired, itemsIn, type QueueRecord } from '../../core/record.ts'
import { remind } from '../../core/reminder.ts'
import { isUntidy } from '../../core/scheduled.ts'
import { isNear } from '../../core/timers.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, asStored, done } from '../attempts/decision.ts'
import { changeOf, type Engine, mayJoin, readRecord } from '../attempts/engine.ts'
import { join } from '../later/join.ts'
import { sealLaterQuietly } from '../later/seal-later.ts'

/** 2,000 expired locks at 40 a write, and room for lost races. */
const ATTEMPTS_MAX = 80
const HOLDS_FROM = 3
/** Writes of a visit that join due items, some hundred each: the timer stays due for the rest. */
const JOINS_MAX = 20

type LocksEnded = {
  itemsReturned: number
  /** How long the lock that waited longest had been over, of those ended so far. */
  lagMs: number
  /** When the first prompt timer ends, of those that end soon. */
  nextDueMs?: number
}

/** What a visit leaves for later, because the time is up (locks) or it may take long. */
export type Left = 'nothing' | 'locks' | 'housekeeping' | 'forgetting'

/**
 * Ends expired locks, folds done ones, announces items that nobody takes, and moves the queue's timer on. It leaves
 * work that needs rows or S3, except for items that have come due: these join after the locks.
 */
export async function sweepQueue(
  engine: Engine,
  seen: QueueRecord,
  ended: LocksEnded,
  deadlineMs: number,
): Promise<Left> {
  const course = {
    from: asStored(seen),
    attemptsMax: ATTEMPTS_MAX,
    holdsFrom: HOLDS_FROM,
    untilMs: deadlineMs,
  }
  let joins = 0
  let stuckBy: QueueRecord | undefined
  return attempts<Left>(engine, seen.queue, course, ({ record, nowMs, attempt }) => {
    if (record === undefined) return answer('nothing')
    if (nowMs >= deadlineMs) return answer('locks')
    // We read the index eventually consistently: it may show a timer that has moved already.
    const isDue = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
    if (!isDue && (attempt === 1 || !hasEnded(record, nowMs))) {
      comesDueIn(ended, record, nowMs)
      return answer('nothing')
    }
    // Locks come first, because consumers wait for them: a join may need S3.
    if (
      !hasEnded(record, nowMs) &&
      joins < JOINS_MAX &&
      (mayJoin(engine, record, nowMs) || isUntidy(record.scheduled))
    ) {
      joins += 1
      return act(async () => {
        const { kind, ...left } = await seeToScheduled(engine, record, nowMs)
        if (kind !== 'joined') joins = JOINS_MAX
        if (kind === 'stuck') stuckBy = left.record
        return again(left)
      })
    }
    if (isQuiet(record, nowMs)) return answer('forgetting')
    const draft = sweptAt(engine, record, nowMs)
    const change = changeOf(engine, record, draft, {
      nowMs,
      refreshCheckAt: true,
      isStuck: record === stuckBy,
      // A process that took the last item may have died before it marked the queue as dry.
      setsDry: engine.events && attempt === 1,
    })
    return {
      kind: 'write',
      change,
      async landed(after) {
        count(ended, record, draft, nowMs)
        comesDueIn(ended, after, nowMs)
        // One write ends a limited number of locks; if some are left, another round follows.
        if (hasEnded(after, nowMs) || (joins === 0 && mayJoin(engine, after, nowMs)))
          return again(asStored(after))
        // A busy queue has locks to end or fold at every visit; without this, its record would stay large for ever.
        if (joins === 0 && isUntidy(after.scheduled)) await sealLaterQuietly(engine, after)
        const isPurging = after.scheduled.purged.length > 0
        const hasWork = change.after.work || isPurging || hasOldNotes(after, nowMs)
        return done(hasWork ? 'housekeeping' : 'nothing')
      },
    }
  })
}

/** Joins due items; or moves entries that are not due out of the record, which they make larger. */
async function seeToScheduled(engine: Engine, record: QueueRecord, nowMs: number) {
  if (mayJoin(engine, record, nowMs)) return join(engine, asStored(record), nowMs)
  await sealLaterQuietly(engine, record)
  return { kind: 'sealed' as const, ...asStored(await readRecord(engine, record.queue)) }
}

function count(ended: LocksEnded, before: QueueRecord, after: QueueRecord, nowMs: number): void {
  for (const [lockId, lock] of before.locks) {
    if (!isExpired(lock, nowMs) || after.locks.has(lockId)) continue
    ended.itemsReturned += itemsIn(lock.stretches)
    ended.lagMs = Math.max(ended.lagMs, nowMs - lock.expiresAtMs)
  }
}

function comesDueIn(ended: LocksEnded, { checkAtMs }: QueueRecord, nowMs: number): void {
  if (checkAtMs !== undefined && isNear(checkAtMs, nowMs)) comesDue(ended, checkAtMs)
}

export function comesDue(ended: LocksEnded, atMs: number): void {
  ended.nextDueMs = Math.min(ended.nextDueMs ?? atMs, atMs)
}

function sweptAt(engine: Engine, record: QueueRecord, nowMs: number): QueueRecord {
  const returned = endExpired(record, nowMs)
  const draft = returned === record ? foldDone(record, nowMs) : returned
  const { remindAfterMs } = engine
  return remindAfterMs === undefined ? draft : remind(draft, nowMs, remindAfterMs)
}

const hasEnded = (record: QueueRecord, nowMs: number): boolean =>
  [...record.locks.values()].some((lock) => isDone(lock) || isExpired(lock, nowMs))
