import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { isLockId, recordKey } from '../../core/keys.ts'
import { LOCKS_PER_CALL_MAX } from '../../core/limits.ts'
import { standingOf } from '../../core/lock-standing.ts'
import { itemsIn } from '../../core/record.ts'
import { acknowledgeUpdate } from '../../store/lock-updates.ts'
import type { AcknowledgeResult, SettleRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, again, answer, asStored, done, doubt, refuse } from '../attempts/decision.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'
import { foldAfter } from '../attempts/fold.ts'
import { checkRequest, endUnderFence } from './settle.ts'

/** How often we send an acknowledge whose answers get lost; repeating it changes nothing. */
const SENDINGS_MAX = 4
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
  const course = { from, attemptsMax: SENDINGS_MAX } as const
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
      const written = await engine.dynamo.update(recordKey(queue), acknowledgeUpdate(lockId, nowMs))
      if (written.kind === 'unknown') {
        return doubt(written.cause, async () => again(asStored(await readRecord(engine, queue))))
      }
      const after = seen(engine, queue, written.row)
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
