import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, deadLetterQueueOf, isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { IDS_MAX } from '../../../foundation/shared/bounds.ts'
import { shortenedReason } from '../../../foundation/shared/reason.ts'
import {
  REASON_BYTES_MAX,
  REASON_CHARACTERS_MAX,
  RELEASE_DELAY_SECONDS_MAX,
  STUCK_REASON_CHARACTERS,
} from '../../core/limits.ts'
import { acknowledgedAlready, standingOf } from '../../core/lock-standing.ts'
import { endLock } from '../../core/locks.ts'
import { endPart, type PartialEnding } from '../../core/partial.ts'
import { itemsIn, type QueueRecord } from '../../core/record.ts'
import { type Again, againAfter } from '../../core/retry.ts'
import { randomRetryLockId } from '../../core/settling.ts'
import type { ReleaseRequest, SettleRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { answer, done, refuse } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { buryDead } from '../moving/move-dead.ts'
import type { LanesMoved } from '../moving/move-lanes.ts'

/** Each lost race is a round trip and a pause. */
const ATTEMPTS_MAX = 24
const LOOKS_FROM = 4
/** Enough for a lock's items one by one, and for some of the backlog. */
const INLINE_MOVES_MAX = 120
const INLINE_FAILURES_MAX = 3

export async function release(
  engine: Engine,
  queue: string,
  request: ReleaseRequest,
): Promise<{ itemsReleased: number }> {
  checkRequest(queue, request)
  const { delaySeconds = 0, overtake = false } = request
  if (
    !Number.isInteger(delaySeconds) ||
    delaySeconds < 0 ||
    delaySeconds > RELEASE_DELAY_SECONDS_MAX
  ) {
    throw new QueueError(
      'INVALID_PARAMETER',
      `delay_seconds must be an integer from 0 to ${RELEASE_DELAY_SECONDS_MAX}`,
      { field: 'delay_seconds' },
    )
  }
  const items = await endUnderFence(engine, queue, request, 'released', {
    again(nowMs) {
      if (delaySeconds === 0) return undefined
      const lockId = randomRetryLockId(engine.random, overtake)
      return againAfter(lockId, delaySeconds * 1_000, nowMs)
    },
  })
  return { itemsReleased: items }
}

export async function deadLetter(
  engine: Engine,
  queue: string,
  request: SettleRequest & { readonly reason?: string | undefined },
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
  const itemsDeadLettered = await endUnderFence(engine, queue, request, 'dead-lettered', {
    reason: kept.reason,
  })
  // No pop can reach the items any more; the stream moves them if this does not.
  const failure = kept.failure ?? (await buryQuietly(engine, queue, kept.priorities)).failure
  if (failure !== undefined) engine.onBackgroundError(failure, { queue, step: 'dead-letter' })
  return { itemsDeadLettered, deadLetterQueue: deadLetterQueueOf(queue) }
}

/**
 * Reasons wait in the record until their items have moved, and it has room for a limited number. If items cannot
 * move, we keep only a few characters: a consumer that could not get rid of an item would be stuck.
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
  /** The priorities of the lock's items, as far as the record remembers the lock. */
  readonly priorities: readonly number[]
  readonly failure?: unknown
}

/**
 * Returns what was in the way, if anything was. The caller waits only for its own items: housekeeping moves a
 * backlog, and items that cannot move now.
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

type How = {
  readonly reason?: string
  /** The retry lock in which the items wait, a new one each time; `undefined` if they come back at once. */
  readonly again?: (nowMs: number) => Again | undefined
}

/** Ends a lock, or some of its items, under the fence. */
export async function endUnderFence(
  engine: Engine,
  queue: string,
  { lockId, ids }: SettleRequest,
  ending: PartialEnding,
  { reason = '', again }: How = {},
): Promise<number> {
  const named = ids && [...new Set(ids)]
  const course = {
    from: 'memory-or-store',
    attemptsMax: ATTEMPTS_MAX,
    looksFrom: LOOKS_FROM,
  } as const
  return attempts<number>(engine, queue, course, ({ record, nowMs }) => {
    const standing = standingOf(record, lockId, nowMs)
    if (standing.kind !== 'live' || record === undefined) {
      // A repetition gets its first answer.
      const past = record?.ended.findLast((lock) => lock.lockId === lockId)
      const isAcknowledged = standing.kind === 'acknowledged' && ending === 'acknowledged'
      if (past?.ending === ending) return answer(named?.length ?? past.items)
      if (isAcknowledged) return answer(named?.length ?? standing.items)
      const error =
        standing.kind === 'refused' ? standing.error : acknowledgedAlready('settle', lockId)
      return refuse(error)
    }
    const { lock } = standing
    const later = again?.(nowMs)
    const { draft, items } =
      named === undefined
        ? {
            draft: endLock(record, lockId, ending, nowMs, reason, later),
            items: itemsIn(lock.stretches),
          }
        : endPart(record, lockId, lock, named, { ending, reason, again: later }, nowMs)
    if (draft === record) return answer(items)
    const change = changeOf(engine, record, draft, { nowMs })
    return { kind: 'write', change, landed: () => done(items) }
  })
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

export function checkRequest(queue: string, { lockId, ids }: SettleRequest): void {
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
