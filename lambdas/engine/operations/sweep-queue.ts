import { endExpired, foldDone } from '../core/locks.ts'
import { isDone, isExpired, itemsIn, type QueueRecord } from '../core/record.ts'
import { remind } from '../core/reminder.ts'
import { busy, changeOf, commit, type Engine, pause } from './engine.ts'
import { isQuiet } from './forget.ts'
import { hold } from './hold.ts'

/** 2,000 expired locks at 40 a write, and room for lost races. */
const ATTEMPTS_MAX = 80
const STARVING_AFTER = 3

export type LocksEnded = {
  itemsReturned: number
  /** Of the locks ended so far, how long the one that waited longest had been over. */
  lagMs: number
}

/** What a visit leaves for later, because the time is up (locks) or it may take long. */
export type Left = 'nothing' | 'locks' | 'housekeeping' | 'forgetting'

/**
 * Ends expired locks, folds done ones, announces items that nobody takes, and moves the queue's timer on.
 * It sends requests for the record and nothing else: what needs rows or S3 is left.
 */
export async function sweepQueue(
  engine: Engine,
  seen: QueueRecord,
  ended: LocksEnded,
  deadlineMs: number,
): Promise<Left> {
  let record: QueueRecord | undefined = seen
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined) return 'nothing'
    const nowMs = engine.clock.nowMs()
    if (nowMs >= deadlineMs) return 'locks'
    // The index is read eventually consistently: it may tell of a timer that was moved already.
    const isDue = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
    if (!isDue && (attempt === 1 || !hasEnded(record, nowMs))) return 'nothing'
    if (isQuiet(record, nowMs)) return 'forgetting'
    const draft = sweptAt(engine, record, nowMs)
    const change = changeOf(engine, record, draft, {
      nowMs,
      refreshCheckAt: true,
      // A process that took the last item may have died before it marked the queue as dry.
      marksDry: engine.events && attempt === 1,
    })
    const committed = await commit(engine, change)
    if (committed.kind !== 'committed') {
      record = committed.kind === 'lost' ? committed.current : undefined
      await pause(engine, attempt)
      if (engine.clock.nowMs() >= deadlineMs) return 'locks'
      if (attempt >= STARVING_AFTER && record !== undefined) record = await hold(engine, record)
      continue
    }
    for (const [lockId, lock] of record.locks) {
      if (!isExpired(lock, nowMs) || draft.locks.has(lockId)) continue
      ended.itemsReturned += itemsIn(lock.stretches)
      ended.lagMs = Math.max(ended.lagMs, nowMs - lock.expiresAtMs)
    }
    record = committed.record
    // One write ends only so many locks; another round where some are left.
    if (record !== undefined && hasEnded(record, nowMs)) continue
    return change.after.work ? 'housekeeping' : 'nothing'
  }
  throw busy(seen.queue)
}

function sweptAt(engine: Engine, record: QueueRecord, nowMs: number): QueueRecord {
  const returned = endExpired(record, nowMs)
  const draft = returned === record ? foldDone(record, nowMs) : returned
  const { remindAfterMs } = engine
  return remindAfterMs === undefined ? draft : remind(draft, nowMs, remindAfterMs)
}

const hasEnded = (record: QueueRecord, nowMs: number): boolean =>
  [...record.locks.values()].some((lock) => isDone(lock) || isExpired(lock, nowMs))
