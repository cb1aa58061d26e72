import { QueueError } from '../../foundation/errors.ts'
import { checkQueueId } from '../../foundation/queue-id.ts'
import { standingOf } from '../core/acknowledge.ts'
import { recordKey } from '../core/keys.ts'
import { checkTtl } from '../core/pop-request.ts'
import { extendUpdate } from '../store/lock-updates.ts'
import {
  busy,
  type Engine,
  outcomeUnknown,
  pause,
  readRecord,
  seen,
  seenInDoubt,
} from './engine.ts'

const ATTEMPTS_MAX = 12

/** Sets a live lock's expiry to now + ttl: sooner or later than it was. */
export async function extend(
  engine: Engine,
  queue: string,
  { lockId, ttlSeconds }: { readonly lockId: string; readonly ttlSeconds: number },
): Promise<{ lockId: string; expiresAtMs: number; ttlSeconds: number }> {
  checkQueueId(queue)
  const seconds = checkTtl(ttlSeconds)
  let record = engine.memory.get(queue)
  let current = false
  let lost: unknown
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const nowMs = engine.clock.nowMs()
    const standing = standingOf(record, lockId, nowMs)
    if (record === undefined || standing.kind !== 'live') {
      if (!current) {
        record = await readRecord(engine, queue)
        current = true
        continue
      }
      // An earlier sending may have extended it before it ended.
      if (lost !== undefined) throw outcomeUnknown(queue, lost)
      if (standing.kind === 'refused') throw standing.error
      throw new QueueError(
        'LOCK_EXPIRED',
        `Cannot extend lock "${lockId}" because it was acknowledged already`,
        { field: 'lock_id' },
      )
    }
    const expiresAtMs = nowMs + seconds * 1000
    const written = await engine.dynamo
      .update(recordKey(queue), extendUpdate(record, lockId, standing.lock, expiresAtMs))
      .catch((error: unknown) => {
        throw lost === undefined ? error : outcomeUnknown(queue, error)
      })
    if (written.kind === 'unknown') {
      lost = written.cause
      record = await readRecord(engine, queue).catch((error: unknown) => {
        throw outcomeUnknown(queue, error)
      })
    } else {
      const look = lost === undefined ? seen : seenInDoubt
      record = look(engine, queue, written.item)
    }
    // Compared with the expiry it replaces, so that any copy of it can land only once.
    if (record?.locks.get(lockId)?.expiresAtMs === expiresAtMs) {
      return { lockId, expiresAtMs, ttlSeconds: seconds }
    }
    current = true
    if (attempt > 1) await pause(engine, attempt)
  }
  throw lost === undefined ? busy(queue) : outcomeUnknown(queue, lost)
}
