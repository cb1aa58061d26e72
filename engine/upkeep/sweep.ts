// One sweep. First it ends the locks of all queues whose timer has come, because consumers wait for that. Then it does
// what may take long (if S3 hangs, for instance): missed housekeeping, forgetting empty queues, a walk that applies
// patterns. Each visit moves its queue's timer on, so the next run resumes by itself. If a queue fails, it is reported
// and keeps its timer, and it holds up no other.

import { QueueError } from '../../shared/errors.ts'
import { isQuiet } from '../core/fence.ts'
import { allShards, recordKey } from '../core/keys.ts'
import { SHARDS } from '../core/limits.ts'
import type { Engine } from '../driver/engine.ts'
import { KNOWN_FORMAT } from '../requests/blind-updates.ts'
import { moveNotes } from '../storing/seal.ts'
import { applyPatterns } from './apply-patterns.ts'
import { sideBySide } from './due-queues.ts'
import {
  endLocks,
  failed,
  type LeftOver,
  nothingYet,
  type Report,
  type SweepReport,
} from './end-locks.ts'
import { housekeepAll } from './housekeep.ts'

export type SweepRequest = {
  readonly queuesMax?: number | undefined
  /** The sweep takes no more queues after this time. Default: a minute from now. */
  readonly deadlineMs?: number | undefined
  /** When to stop waiting for work that may take long (housekeeping, forgetting). Default: the deadline. */
  readonly tidyUntilMs?: number | undefined
  /** Which of the 16 shards this call looks at. Default: all. */
  readonly shards?: readonly number[] | undefined
  /** Called with `nextDueMs`, if there is one, before the sweep begins work that may take long. */
  readonly onNext?: ((dueMs: number) => void) | undefined
}

export interface SweepingVerbs {
  /** Ends expired locks of due queues. Each run is bounded, and the next one goes on where it ended. */
  returnExpiredLocks(request?: SweepRequest): Promise<SweepReport>
}

/** If the caller sets no deadline, the call takes no more queues after this long. */
const RUN_MS = 60_000

export async function returnExpiredLocks(
  engine: Engine,
  request: SweepRequest = {},
): Promise<SweepReport> {
  const deadlineMs = request.deadlineMs ?? engine.clock.nowMs() + RUN_MS
  const { queuesMax = Number.POSITIVE_INFINITY, shards = allShards, tidyUntilMs } = request
  checkShards(shards)
  const report = nothingYet()
  const { left, patternsAreDue } = await endLocks(engine, report, { deadlineMs, queuesMax, shards })
  throwIfBlind(report, shards.length)
  if (report.nextDueMs !== undefined) request.onNext?.(report.nextDueMs)
  const untilMs = tidyUntilMs ?? request.deadlineMs
  await Promise.all([
    tidy(engine, left, report, untilMs),
    patternsAreDue && walk(engine, report, untilMs, deadlineMs),
  ])
  // Work that goes on after the answer must not change it.
  return { ...report, failed: [...report.failed] }
}

function checkShards(shards: readonly number[]): void {
  const isOne = (shard: number): boolean => Number.isInteger(shard) && 0 <= shard && shard < SHARDS
  if (shards.length > 0 && shards.every(isOne)) return
  throw new QueueError(
    'INVALID_PARAMETER',
    `Cannot sweep the shards "${shards.join()}" because they must be integers from 0 to ${SHARDS - 1}`,
    { field: 'shards' },
  )
}

/** If we could not read a single shard, there is nothing to report. */
function throwIfBlind({ queues, failed }: Report, shards: number): void {
  const unread = failed.filter(({ shard }) => shard !== undefined)
  const first = unread[0]
  if (queues === 0 && unread.length === shards && first !== undefined) throw first.error
}

/** Failures of one walk that a report names; each is a line in the log. */
const WALK_FAILURES_MAX = 100

/** Locks must end on time: when the walk's time is up, we do not wait for its requests under way. */
async function walk(
  engine: Engine,
  report: Report,
  untilMs: number | undefined,
  deadlineMs: number,
): Promise<void> {
  let isLeft = true
  let failures = 0
  const applied = applyPatterns(engine, untilMs ?? deadlineMs, {
    onFailed(failure) {
      // If thousands fail, the first ones tell why.
      if (failures++ >= WALK_FAILURES_MAX) return
      report.failed.push(failure)
      const { queue = '', error } = failure
      engine.onBackgroundError(error, { queue, step: 'apply-patterns' })
    },
    onMore() {
      report.more = true
    },
  }).then(() => {
    isLeft = false
  })
  await untilTimeIsUp(engine, applied, untilMs)
  if (isLeft) report.more = true
}

/** Waits for the work, but no longer than to the given time, if any. */
async function untilTimeIsUp(
  { clock }: Engine,
  work: Promise<unknown>,
  untilMs: number | undefined,
): Promise<void> {
  if (untilMs === undefined) {
    await work
    return
  }
  const ended = new AbortController()
  await Promise.race([work, clock.sleep(Math.max(0, untilMs - clock.nowMs()), ended.signal)])
  ended.abort()
}

/** Each may hold a segment in memory and have four requests under way. */
const TIDIED_AT_ONCE = 4

/**
 * If there is a time limit, we do not wait for work that takes longer. It goes on while this process lives, and
 * may stop anywhere. Until it ends it keeps its slot, so that a store that hangs does not get more and more
 * requests.
 */
async function tidy(
  engine: Engine,
  left: readonly LeftOver[],
  report: Report,
  untilMs: number | undefined,
): Promise<void> {
  const { clock, tidying } = engine
  const inTime = (): boolean => untilMs === undefined || clock.nowMs() < untilMs
  const mayBegin = (): boolean => inTime() && tidying.size < TIDIED_AT_ONCE
  if (left.length === 0) return
  let done = 0
  const all = sideBySide(
    left,
    TIDIED_AT_ONCE,
    async ({ queue, left: over }) => {
      if (tidying.has(queue)) return
      tidying.add(queue)
      try {
        const deadLettered = await tidyQueue(engine, queue, over)
        report.itemsDeadLettered += deadLettered
      } catch (error) {
        failed(engine, queue, error, report)
      } finally {
        tidying.delete(queue)
        done += 1
      }
    },
    mayBegin,
  )
  await untilTimeIsUp(engine, all, untilMs)
  if (done < left.length) report.more = true
}

async function tidyQueue(engine: Engine, queue: string, left: LeftOver['left']): Promise<number> {
  if (left === 'forgetting') {
    await forget(engine, queue)
    return 0
  }
  const record = await engine.records.read(queue)
  const { deadLettered } = await housekeepAll(engine, queue, record)
  return deadLettered
}

const ATTEMPTS_MAX = 3

/**
 * Deletes what an empty queue has left in rows and S3, and then its record. Its timer stays due, so the
 * next sweep does what a few rounds could not.
 */
async function forget(engine: Engine, queue: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const record = await engine.records.read(queue)
    if (record === undefined || !isQuiet(record, engine.clock.nowMs())) return
    await housekeepAll(engine, queue, record, { dropEmpty: true })
    await keepReceipts(engine, queue)
    if (await deleteRecord(engine, queue)) return
  }
}

/** We remember a key for its full time, whatever becomes of the queue. */
async function keepReceipts(engine: Engine, queue: string): Promise<void> {
  const record = engine.records.recall(queue) ?? (await engine.records.read(queue))
  if (record !== undefined) await moveNotes(engine, record)
}

/** Deletes it on condition that nothing at all has happened since we saw it empty. */
async function deleteRecord(engine: Engine, queue: string): Promise<boolean> {
  const record = await engine.records.read(queue)
  if (record === undefined) return true
  // Somebody used the queue meanwhile, and it is empty again: callers may still ask about its last lock.
  if (record.lanes.size > 0 || record.notes.size > 0 || !isQuiet(record, engine.clock.nowMs()))
    return false
  const asSeen = `${KNOWN_FORMAT} AND v=:v AND born=:born AND a=:a AND c=:c AND n=:n`
  const sequenceAsSeen = record.sequence === undefined ? 'attribute_not_exists(sn)' : 'sn=:sn'
  const written = await engine.dynamo.delete({
    Key: recordKey(queue),
    ConditionExpression: `${asSeen} AND ${sequenceAsSeen}`,
    ExpressionAttributeValues: {
      ':v': record.version,
      ':born': record.born,
      ':a': record.appends,
      ':c': record.claims,
      ':n': record.lanesMade,
      ...(record.sequence !== undefined && { ':sn': record.sequence }),
    },
  })
  engine.records.forget(queue)
  if (written.kind === 'unknown') throw written.cause
  return written.kind === 'done'
}
