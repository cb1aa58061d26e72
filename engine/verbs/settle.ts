// What a consumer does with its lock: acknowledge, extend, release, dead-letter. A lock is live, acknowledged, ended
// (the record remembers the last ones, and how) or unknown. A blind write acknowledges a whole lock with a mark, which
// the next fenced write folds; another extends it, on condition that it still has the expiry that we saw. Both may be
// sent again. All else goes under the fence, which settles every race: with a pop that ends the lock because its time
// is over, with another call for the same lock. A repetition gets the answer of the first, and never a second effect.

import { deadLetterQueueOf, IDS_MAX, isDeadLetterQueue } from '../../shared/bounds.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { shortenedReason } from '../../shared/wire.ts'
import { checkTtl } from '../core/check-requests.ts'
import { isLockId } from '../core/keys.ts'
import {
  LOCKS_PER_CALL_MAX,
  REASON_BYTES_MAX,
  REASON_CHARACTERS_MAX,
  RELEASE_DELAY_SECONDS_MAX,
  STUCK_REASON_CHARACTERS,
} from '../core/limits.ts'
import {
  acknowledgedAlready,
  endLock,
  endPart,
  type PartialEnding,
  standingOf,
} from '../core/locks.ts'
import { itemsIn, type QueueRecord } from '../core/record.ts'
import { type Again, againAfter, randomLockId } from '../core/settling.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, answer, asStored, done, doubt, lost, refuse } from '../driver/decision.ts'
import { type Engine, foldAfter } from '../driver/engine.ts'
import { acknowledgeUpdate, extendUpdate } from '../requests/blind-updates.ts'
import { buryDead, type LanesMoved } from '../storing/move-across.ts'

/** What a caller does with the items that it has locked. */
export interface SettlingVerbs {
  acknowledge(
    queue: string,
    request: SettleRequest,
  ): Promise<{ readonly itemsAcknowledged: number }>
  acknowledgeMany(queue: string, lockIds: readonly string[]): Promise<readonly AcknowledgeResult[]>
  extend(
    queue: string,
    request: { readonly lockId: string; readonly ttlSeconds: number },
  ): Promise<{ readonly lockId: string; readonly expiresAtMs: number; readonly ttlSeconds: number }>
  release(queue: string, request: ReleaseRequest): Promise<{ readonly itemsReleased: number }>
  deadLetter(
    queue: string,
    request: SettleRequest & { readonly reason?: string | undefined },
  ): Promise<{ readonly itemsDeadLettered: number; readonly deadLetterQueue: string }>
}

export type SettleRequest = { readonly lockId: string; readonly ids?: readonly string[] }

export type ReleaseRequest = SettleRequest & {
  /** How long the items wait before they come back: 0 (the default) to 86,400. Other items wait behind them. */
  readonly delaySeconds?: number | undefined
  /** The other items do not wait: until then, pops of an exclusive queue pass these items. */
  readonly overtake?: boolean | undefined
}

export type AcknowledgeResult =
  | { readonly lockId: string; readonly kind: 'acknowledged'; readonly itemsAcknowledged: number }
  | {
      readonly lockId: string
      readonly kind: 'refused'
      readonly code: 'LOCK_NOT_FOUND' | 'LOCK_EXPIRED' | 'INVALID_LOCK_ID' | 'STORE_UNAVAILABLE'
      readonly message: string
    }

/** How often we send an acknowledge whose answers get lost; repeating it changes nothing. */
const ACKNOWLEDGE_SENDINGS_MAX = 4
/** Locks acknowledged at a time: all these requests write the same record. */
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

/** One blind write: it marks the lock done, and the next fenced write folds it. */
async function acknowledgeWhole(engine: Engine, queue: string, lockId: string): Promise<number> {
  // If this cannot be one of our ids, the answer depends only on whether another lock is live.
  const isPossible = isLockId(lockId)
  const from = isPossible ? 'nothing' : 'store'
  const course = { from, attemptsMax: ACKNOWLEDGE_SENDINGS_MAX } as const
  return attempts<number>(engine, queue, course, ({ record, isCurrent, nowMs }) => {
    const standing = isCurrent ? standingOf(record, lockId, nowMs) : undefined
    if (standing?.kind === 'acknowledged') return answer(standing.items)
    if (standing?.kind === 'refused') {
      const { error } = standing
      // While an earlier request is open, only an ending in the record is final. That very request may have
      // ended a lock that the record has forgotten; and a lock that is only past its time is still there for
      // the request to settle.
      const isFinal = error.code === 'LOCK_EXPIRED' && !record?.locks.has(lockId)
      return refuse(error, isFinal)
    }
    return act(async () => {
      const written = await engine.records.update(queue, acknowledgeUpdate(lockId, nowMs))
      if (written.kind === 'unknown') {
        return doubt(written.cause, async () => again(asStored(await engine.records.read(queue))))
      }
      const after = engine.records.seen(queue, written.row)
      if (written.kind === 'failed' || after === undefined) return again(asStored(after))
      await foldAfter(engine, after)
      return done(itemsIn(after.locks.get(lockId)?.stretches ?? []))
    })
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

const EXTEND_ATTEMPTS_MAX = 12

type Extended = {
  readonly lockId: string
  readonly expiresAtMs: number
  readonly ttlSeconds: number
}

/** Sets a live lock's expiry to now + ttl, which may be sooner or later than before. */
export async function extend(
  engine: Engine,
  queue: string,
  { lockId, ttlSeconds: wanted }: { readonly lockId: string; readonly ttlSeconds: number },
): Promise<Extended> {
  checkQueueId(queue)
  const ttlSeconds = checkTtl(wanted)
  const course = {
    from: 'memory-or-store',
    attemptsMax: EXTEND_ATTEMPTS_MAX,
    pausesFrom: 2,
  } as const
  return attempts<Extended>(engine, queue, course, ({ record, nowMs }) => {
    const standing = standingOf(record, lockId, nowMs)
    if (standing.kind === 'refused') return refuse(standing.error)
    if (standing.kind === 'acknowledged' || record === undefined) {
      return refuse(acknowledgedAlready('extend', lockId))
    }
    const expiresAtMs = nowMs + ttlSeconds * 1000
    const outcomeBy = (after: QueueRecord | undefined) =>
      // Compared with the expiry it replaces, so that any copy of it can land only once.
      after?.locks.get(lockId)?.expiresAtMs === expiresAtMs
        ? done({ lockId, expiresAtMs, ttlSeconds })
        : lost(asStored(after))
    return act(async () => {
      const update = extendUpdate(record, lockId, standing.lock, expiresAtMs, nowMs)
      const written = await engine.records.update(queue, update)
      if (written.kind !== 'unknown') return outcomeBy(engine.records.seen(queue, written.row))
      return doubt(written.cause, async () => outcomeBy(await engine.records.read(queue)))
    })
  })
}

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
      const delay = { delayMs: delaySeconds * 1_000, overtake }
      return againAfter(randomLockId(engine.random), delay, nowMs)
    },
  })
  return { itemsReleased: items }
}

/** Enough for a lock's items one by one, and for some of the backlog. */
const INLINE_MOVES_MAX = 120
const INLINE_FAILURES_MAX = 3

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
      `reason must be well-formed text of at most ${REASON_CHARACTERS_MAX} characters`,
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

type Kept = {
  readonly reason: string
  /** The priorities of the lock's items, as far as the record remembers the lock. */
  readonly priorities: readonly number[]
  readonly failure?: unknown
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
  const seen = engine.records.recall(queue) ?? (await engine.records.read(queue))
  const stretches = seen?.locks.get(lockId)?.stretches ?? []
  const priorities = [...new Set(stretches.map(({ priority }) => priority))]
  if (!isFull(seen)) return { reason, priorities }
  const { failure, record } = await buryQuietly(engine, queue, priorities)
  if (failure === undefined || !isFull(record ?? seen)) return { reason, priorities }
  return { reason: shortenedReason(reason, STUCK_REASON_CHARACTERS), priorities, failure }
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

/** Each lost race is a round trip and a pause. */
const ATTEMPTS_MAX = 24
const LOOKS_FROM = 4

type How = {
  readonly reason?: string
  /** The retry lock in which the items wait, a new one each time; `undefined` if they come back at once. */
  readonly again?: (nowMs: number) => Again | undefined
}

/** Ends a lock, or some of its items, under the fence. */
async function endUnderFence(
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
    const change = engine.records.change(record, draft, { nowMs })
    return { kind: 'write', change, landed: () => done(items) }
  })
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
