import { fenced, isForgettable } from '../core/fence.ts'
import { queueOfRecordKey, recordKey } from '../core/keys.ts'
import { FORGET_AFTER_MS, SHARDS } from '../core/limits.ts'
import { endExpired, foldDone } from '../core/locks.ts'
import { isDone, isExpired, itemsIn, type QueueRecord } from '../core/record.ts'
import type { SweepReport, SweepRequest } from '../queues.ts'
import { CHECK_INDEX } from '../store/table.ts'
import { busy, commit, type Engine, newMark, pause, readRecord } from './engine.ts'
import { hold } from './hold.ts'
import { housekeepRecord } from './housekeep.ts'

/** A minute's run of 1,000 queues at some 20 ms each, four at a time, takes five seconds. */
const QUEUES_MAX_DEFAULT = 1_000
const QUEUES_AT_ONCE = 4
const PAGE_QUEUES = 100
/** 2,000 expired locks at 40 a write, and room for lost races. */
const ATTEMPTS_MAX = 80
const STARVING_AFTER = 3
const FORGET_ATTEMPTS_MAX = 3

type Report = { -readonly [K in keyof SweepReport]: SweepReport[K] } & {
  failed: { queue: string; error: unknown }[]
}

/**
 * Visits the queues whose `checkAt` has come: ends expired locks, finishes what housekeeping left,
 * forgets what is empty. Each visit moves its queue's timer on, so the next run resumes by itself;
 * a queue that fails is reported, keeps its timer, and holds up no other.
 */
export async function returnExpiredLocks(
  engine: Engine,
  { queuesMax = QUEUES_MAX_DEFAULT, deadlineMs = Number.POSITIVE_INFINITY }: SweepRequest = {},
): Promise<SweepReport> {
  const report: Report = {
    queues: 0,
    itemsReturned: 0,
    itemsDeadLettered: 0,
    failed: [],
    more: false,
  }
  // Another shard first each time, so that a bounded run starves none of them.
  const first = Math.floor(engine.random() * SHARDS)
  for (let index = 0; index < SHARDS; index += 1) {
    const shard = (first + index) % SHARDS
    let from: Record<string, unknown> | undefined
    do {
      const room = queuesMax - report.queues
      if (room <= 0 || engine.clock.nowMs() >= deadlineMs) return { ...report, more: true }
      const page = await engine.dynamo.query({
        IndexName: CHECK_INDEX,
        KeyConditionExpression: '#s=:s AND checkAt<=:now',
        ExpressionAttributeNames: { '#s': 'shard' },
        ExpressionAttributeValues: { ':s': shard, ':now': engine.clock.nowMs() },
        Limit: Math.min(PAGE_QUEUES, room),
        ...(from !== undefined && { ExclusiveStartKey: from }),
      })
      const queues = page.rows.map((row) => queueOfRecordKey(row.pk as string))
      for (let at = 0; at < queues.length; at += QUEUES_AT_ONCE) {
        await Promise.all(
          queues.slice(at, at + QUEUES_AT_ONCE).map((queue) => visit(engine, queue, report)),
        )
      }
      report.queues += queues.length
      from = page.next
    } while (from !== undefined)
  }
  return report
}

async function visit(engine: Engine, queue: string, report: Report): Promise<void> {
  try {
    await sweepQueue(engine, queue, report)
  } catch (error) {
    report.failed.push({ queue, error })
    engine.onBackgroundError(error, { queue, step: 'sweep' })
  }
}

async function sweepQueue(engine: Engine, queue: string, report: Report): Promise<void> {
  let record = await readRecord(engine, queue)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const nowMs = engine.clock.nowMs()
    // The index is read eventually consistently: it may tell of a timer that was moved already.
    if (record === undefined) return
    const isDue = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
    if (!isDue && (attempt === 1 || !hasEnded(record, nowMs))) return
    if (isQuiet(record, nowMs)) {
      // Its timer stays due: what is not done after a few rounds is for the next run.
      if ((await forget(engine, record)) || attempt >= FORGET_ATTEMPTS_MAX) return
      record = await readRecord(engine, queue)
      continue
    }
    const returned = endExpired(record, nowMs)
    const draft = returned === record ? foldDone(record, nowMs) : returned
    const mark = newMark(engine)
    // Whoever took the last item may have died before he said so.
    const marksDry = engine.events && attempt === 1
    const change = fenced(record, draft, { nowMs, mark, refreshCheckAt: true, marksDry })
    const committed = await commit(engine, change)
    if (committed.kind !== 'committed') {
      record = committed.kind === 'lost' ? committed.current : undefined
      await pause(engine, attempt)
      if (attempt >= STARVING_AFTER && record !== undefined) record = await hold(engine, record)
      continue
    }
    for (const [lockId, lock] of record.locks) {
      if (isExpired(lock, nowMs) && !draft.locks.has(lockId)) {
        report.itemsReturned += itemsIn(lock.stretches)
      }
    }
    if (change.after.work) {
      const { deadLettered } = await housekeepRecord(engine, queue, committed.record, false)
      report.itemsDeadLettered += deadLettered
    }
    // One write ends only so many locks; another round where some are left.
    record = await readRecord(engine, queue)
    if (record === undefined || !hasEnded(record, nowMs)) return
  }
  throw busy(queue)
}

const hasEnded = (record: QueueRecord, nowMs: number): boolean =>
  [...record.locks.values()].some((lock) => isDone(lock) || isExpired(lock, nowMs))

/** Empty, and its last ended lock is old news: repeats of an acknowledge have had their answer. */
const isQuiet = (record: QueueRecord, nowMs: number): boolean =>
  isForgettable(record) && nowMs >= record.lastEndedMs + FORGET_AFTER_MS

/** Deletes the record of an empty queue, on the condition that nothing at all happened since. */
async function forget(engine: Engine, seen: QueueRecord): Promise<boolean> {
  const { queue } = seen
  await housekeepRecord(engine, queue, seen, true)
  const record = await readRecord(engine, queue)
  if (record === undefined) return true
  // Used meanwhile, and empty again: its last ended lock is news once more.
  if (record.lanes.size > 0 || !isQuiet(record, engine.clock.nowMs())) return false
  const written = await engine.dynamo.delete({
    Key: recordKey(queue),
    ConditionExpression: 'v=:v AND born=:born AND a=:a AND c=:c AND n=:n',
    ExpressionAttributeValues: {
      ':v': record.version,
      ':born': record.born,
      ':a': record.appends,
      ':c': record.claims,
      ':n': record.lanesMade,
    },
  })
  engine.memory.delete(queue)
  if (written.kind === 'unknown') throw written.cause
  return written.kind === 'done'
}
