import { nothingFound, passableWaiting, passOverWaiting, sortOut } from '../../core/expiry.ts'
import { ANSWER_BYTES_MAX, LOOK_FURTHER_ITEMS } from '../../core/limits.ts'
import { forOneWrite } from '../../core/locks.ts'
import { isLive, itemsIn, type Lock, type QueueRecord, type Stretch } from '../../core/record.ts'
import { isOvertaken, isRetry } from '../../core/retry.ts'
import type { PopOutcome } from '../../verbs.ts'
import { again, answer, asStored, type Decision, look, type View } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { PASSES_MAX, type Passing } from './pass-over.ts'

/**
 * In an exclusive queue, items that wait for their retry hold up all others. But one that has expired will never be
 * handed out again, so nothing should wait for it: only its entry tells, and only a queue whose items may expire pays
 * for the look.
 */
export function passRetries(
  { engine, record, view, passing }: Held,
  held: Extract<PopOutcome, { kind: 'locked' }>,
): Decision<PopOutcome> {
  if (!view.isCurrent) return look
  const { nowMs } = view
  const stretches = firstWaiting(record, nowMs)
  return {
    kind: 'read',
    stretches,
    bytesMax: ANSWER_BYTES_MAX,
    // The queue is locked, whether or not we can read what locks it.
    orElse: answer(held),
    next(entries) {
      const { over } = sortOut(record, nothingFound, { stretches, entries }, nowMs, {
        wanted: 0,
        passable: passableWaiting(record),
        bytesMax: 0,
        bytesOf: () => 0,
      })
      if (over.length === 0 || passing.passes === PASSES_MAX) return answer(held)
      passing.passes += 1
      return {
        kind: 'write',
        change: changeOf(engine, record, passOverWaiting(record, over, nowMs), { nowMs }),
        isExtra: true,
        landed(after) {
          engine.onItemsExpired(itemsIn(over))
          return again(asStored(after))
        },
      }
    },
  }
}

type Held = {
  readonly engine: Engine
  readonly record: QueueRecord
  readonly view: View
  readonly passing: Passing
}

/** The first items that wait, of as many locks as one write can change. */
function firstWaiting(record: QueueRecord, nowMs: number): Stretch[] {
  const blocks = (lock: Lock, lockId: string): boolean =>
    isRetry(lockId) && !isOvertaken(lockId) && isLive(lock, nowMs)
  const stretches: Stretch[] = []
  let left = LOOK_FURTHER_ITEMS
  for (const lockId of forOneWrite(record, blocks)) {
    for (const { priority, from, to } of record.locks.get(lockId)?.stretches ?? []) {
      if (left === 0) return stretches
      const end = Math.min(to, from + left)
      stretches.push({ priority, from, to: end })
      left -= end - from
    }
  }
  return stretches
}
