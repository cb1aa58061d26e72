import { checkQueueId } from '../../../foundation/queue-id.ts'
import { recordKey } from '../../core/keys.ts'
import { acknowledgedAlready, standingOf } from '../../core/lock-standing.ts'
import { checkTtl } from '../../core/pop-request.ts'
import type { QueueRecord } from '../../core/record.ts'
import { extendUpdate } from '../../store/lock-updates.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, asStored, done, doubt, lost, refuse } from '../attempts/decision.ts'
import { type Engine, readRecord, seen } from '../attempts/engine.ts'

const ATTEMPTS_MAX = 12

export type Extended = {
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
  const course = { from: 'memory-or-store', attemptsMax: ATTEMPTS_MAX, pausesFrom: 2 } as const
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
      const written = await engine.dynamo.update(recordKey(queue), update)
      if (written.kind !== 'unknown') return outcomeBy(seen(engine, queue, written.row))
      return doubt(written.cause, async () => outcomeBy(await readRecord(engine, queue)))
    })
  })
}
