import { QueueError } from '../../foundation/errors.ts'
import { checkQueueId, deadLetterQueueOf, isDeadLetterQueue } from '../../foundation/queue-id.ts'
import { shortenedReason } from '../../foundation/shared/reason.ts'
import { isLockId, recordKey } from '../core/keys.ts'
import { REASON_BYTES_MAX, REASON_CHARACTERS_MAX, STUCK_REASON_CHARACTERS } from '../core/limits.ts'
import { acknowledgedAlready, standingOf } from '../core/lock-standing.ts'
import { endLock } from '../core/locks.ts'
import { endPart, IDS_MAX, type PartialEnding } from '../core/partial.ts'
import { itemsIn, type QueueRecord } from '../core/record.ts'
import { acknowledgeUpdate } from '../store/lock-updates.ts'
import type { AcknowledgeResult, SettleRequest } from '../verbs.ts'
import { attempts } from './attempts.ts'
import { again, done } from './decision.ts'
import { changeOf, type Engine, readRecord, seen } from './engine.ts'
import { foldAfter } from './fold.ts'
import { buryDead } from './move-dead.ts'
import type { LanesMoved } from './move-lanes.ts'

/** Each lost race is a round trip and a pause. */
const ATTEMPTS_MAX = 24
const LOOKS_FROM = 4
/** Sendings of an acknowledge whose answers are lost; repeating it changes nothing. */
const SENDINGS_MAX = 4
const LOCKS_PER_CALL_MAX = 100
/** A lock's items one by one, and some of what waits. */
const INLINE_MOVES_MAX = 120
const INLINE_FAILURES_MAX = 3
/** Locks acknowledged at a time: they all write the same record. */
const LOCKS_AT_ONCE = 4

export async function acknowledge(
  engine: Engine,
  queue: string,
  request: SettleRequest,
): Promise<{ itemsAcknowledged: number }> {
  checkRequest(queue, request)
  const itemsAcknowledged =
    request.ids === undefined
      ? await acknowledgeWhole(engine, queue, request.lockId)
      : await endUnderFence(engine, queue, request, 'acknowledged')
  return { itemsAcknowledged }
}

export async function acknowledgeMany(
  engine: Engine,
  queue: string,
  lockIds: readonly string[],
): Promise<AcknowledgeResult[]> {
  checkQueueId(queue)
  if (lockIds.length === 0 || lockIds.length > LOCKS_PER_CALL_MAX) {
    throw new QueueError(
      'INVALID_PARAMETER',
      `lock_ids must be 1 to ${LOCKS_PER_CALL_MAX} lock ids`,
      {
        field: 'lock_ids',
      },
    )
  }
  const results: AcknowledgeResult[] = []
  for (let at = 0; at < lockIds.length; at += LOCKS_AT_ONCE) {
    const some = lockIds.slice(at, at + LOCKS_AT_ONCE)
    results.push(...(await Promise.all(some.map((lockId) => resultOf(engine, queue, lockId)))))
  }
  return results
}

export async function release(
  engine: Engine,
  queue: string,
  request: SettleRequest,
): Promise<{ itemsReleased: number }> {
  checkRequest(queue, request)
  return { itemsReleased: await endUnderFence(engine, queue, request, 'released') }
}

export async function deadLetter(
  engine: Engine,
  queue: string,
  request: SettleRequest & { readonly reason?: string },
): Promise<{ itemsDeadLettered: number; deadLetterQueue: string }> {
  checkRequest(queue, request)
  const { reason = '' } = request
  if (isDeadLetterQueue(queue)) {
    throw new QueueError(
      'INVALID_QUEUE_ID',
      'A dead-letter queue has no dead-letter queue of its own; acknowledge or redrive its items',
      { field: 'id' },
    )
  }
  if (reason.length > REASON_CHARACTERS_MAX || !reason.isWellFormed()) {
    throw new QueueError(
      'INVALID_PARAMETER',
      `reason must be text of at most ${REASON_CHARACTERS_MAX} characters`,
      { field: 'reason' },
    )
  }
  const kept = await keptReason(engine, queue, request.lockId, reason)
  const itemsDeadLettered = await endUnderFence(
    engine,
    queue,
    request,
    'dead-lettered',
    kept.reason,
  )
  // The items are out of reach of any pop now; the stream moves them if this does not.
  const failure = kept.failure ?? (await buryQuietly(engine, queue, kept.priorities)).failure
  if (failure !== undefined) engine.onBackgroundError(failure, { queue, step: 'dead-letter' })
  return { itemsDeadLettered, deadLetterQueue: deadLetterQueueOf(queue) }
}

/**
 * Reasons wait in the record until their items have moved, and it holds only so many of them. Where they
 * cannot move, a few characters have to do: a consumer that could not get rid of an item would stand still.
 */
async function keptReason(
  engine: Engine,
  queue: string,
  lockId: string,
  reason: string,
): Promise<Kept> {
  const isFull = (record: QueueRecord | undefined): boolean =>
    record !== undefined && reasonBytes(record) > REASON_BYTES_MAX
  const seen = engine.memory.get(queue) ?? (await readRecord(engine, queue))
  const stretches = seen?.locks.get(lockId)?.stretches ?? []
  const priorities = [...new Set(stretches.map(({ priority }) => priority))]
  if (!isFull(seen)) return { reason, priorities }
  const { failure, record } = await buryQuietly(engine, queue, priorities)
  if (failure === undefined || !isFull(record ?? seen)) return { reason, priorities }
  return { reason: shortenedReason(reason, STUCK_REASON_CHARACTERS), priorities, failure }
}

type Kept = {
  readonly reason: string
  /** Of the items that the lock holds, as far as it is remembered. */
  readonly priorities: readonly number[]
  readonly failure?: unknown
}

/**
 * Returns what was in the way, if anything was. The caller waits for no more than its own items: housekeeping
 * moves a backlog, and what cannot move now.
 */
const buryQuietly = (
  engine: Engine,
  queue: string,
  first: readonly number[],
): Promise<Omit<LanesMoved, 'moved'>> =>
  buryDead(engine, queue, {
    first,
    movesMax: INLINE_MOVES_MAX,
    failuresMax: INLINE_FAILURES_MAX,
  }).catch((failure: unknown) => ({ failure, record: undefined }))

/** One blind write: it marks the lock done, and the next fenced write folds it. */
async function acknowledgeWhole(engine: Engine, queue: string, lockId: string): Promise<number> {
  // We never make such an id; the answer depends on whether another lock is live.
  const isPossible = isLockId(lockId)
  const from = isPossible ? 'nothing' : 'store'
  const course = { from, attemptsMax: SENDINGS_MAX } as const
  return attempts<number>(engine, queue, course, ({ record, isCurrent, nowMs }) => {
    const standing = isCurrent ? standingOf(record, lockId, nowMs) : undefined
    if (standing?.kind === 'acknowledged') return { kind: 'answer', answer: standing.items }
    if (standing?.kind === 'refused') {
      const { error } = standing
      // While an earlier sending is open only an ending on record is final: of a lock that is not
      // remembered it may have been that one, and into one that only its time has ended it may
      // still land.
      const isFinal = error.code === 'LOCK_EXPIRED' && !record?.locks.has(lockId)
      return { kind: 'refuse', error, isFinal }
    }
    return {
      kind: 'act',
      async act() {
        const written = await engine.dynamo.update(
          recordKey(queue),
          acknowledgeUpdate(lockId, nowMs),
        )
        if (written.kind === 'unknown') {
          const { cause } = written
          return {
            kind: 'doubt',
            cause,
            settle: async () => again(await readRecord(engine, queue)),
          }
        }
        const after = seen(engine, queue, written.row)
        if (written.kind === 'failed' || after === undefined) return again(after)
        await foldAfter(engine, after)
        return done(itemsIn(after.locks.get(lockId)?.stretches ?? []))
      },
    }
  })
}

/** Ends a lock, or some of its items, under the fence. */
async function endUnderFence(
  engine: Engine,
  queue: string,
  { lockId, ids }: SettleRequest,
  ending: PartialEnding,
  reason = '',
): Promise<number> {
  const named = ids && [...new Set(ids)]
  const course = { from: 'memory', attemptsMax: ATTEMPTS_MAX, looksFrom: LOOKS_FROM } as const
  return attempts<number>(engine, queue, course, ({ record, nowMs }) => {
    const standing = standingOf(record, lockId, nowMs)
    if (standing.kind !== 'live' || record === undefined) {
      // A repetition gets its first answer.
      const past = record?.ended.findLast((lock) => lock.lockId === lockId)
      const isAcknowledged = standing.kind === 'acknowledged' && ending === 'acknowledged'
      if (past?.ending === ending) return { kind: 'answer', answer: named?.length ?? past.items }
      if (isAcknowledged) return { kind: 'answer', answer: named?.length ?? standing.items }
      const error =
        standing.kind === 'refused' ? standing.error : acknowledgedAlready('settle', lockId)
      return { kind: 'refuse', error }
    }
    const { draft, items } =
      named === undefined
        ? {
            draft: endLock(record, lockId, ending, nowMs, reason),
            items: itemsIn(standing.lock.stretches),
          }
        : endPart(record, lockId, standing.lock, named, ending, nowMs, reason)
    if (draft === record) return { kind: 'answer', answer: items }
    const change = changeOf(engine, record, draft, { nowMs })
    return { kind: 'write', change, landed: () => done(items) }
  })
}

async function resultOf(engine: Engine, queue: string, lockId: string): Promise<AcknowledgeResult> {
  try {
    const itemsAcknowledged = await acknowledgeWhole(engine, queue, lockId)
    return { lockId, kind: 'acknowledged', itemsAcknowledged }
  } catch (error) {
    // Each lock gets its own answer; only a bug of ours fails them all.
    if (!(error instanceof QueueError)) throw error
    const { code } = error
    const known = code === 'LOCK_NOT_FOUND' || code === 'LOCK_EXPIRED' || code === 'INVALID_LOCK_ID'
    return {
      lockId,
      kind: 'refused',
      code: known ? code : 'STORE_UNAVAILABLE',
      message: error.message,
    }
  }
}

function reasonBytes(record: QueueRecord): number {
  let bytes = 0
  for (const lane of record.lanes.values()) {
    for (const reason of new Set(lane.dead.map((dead) => dead.reason))) {
      bytes += Buffer.byteLength(reason)
    }
  }
  return bytes
}

function checkRequest(queue: string, { lockId, ids }: SettleRequest): void {
  checkQueueId(queue)
  if (typeof lockId !== 'string' || lockId.length === 0) {
    throw new QueueError('INVALID_LOCK_ID', 'lock_id must be a lock id', { field: 'lock_id' })
  }
  if (ids !== undefined && (ids.length === 0 || ids.length > IDS_MAX)) {
    throw new QueueError('INVALID_PARAMETER', `ids must be 1 to ${IDS_MAX} item ids`, {
      field: 'ids',
    })
  }
}
