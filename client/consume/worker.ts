// A worker takes a lot, works it, and takes the next with the request that acknowledges this one.
//
//   taking ──items──▶ working ──all done──▶ taking, with `acknowledge`
//     │  ▲               └────otherwise──▶ settling ──▶ (a pause if all failed) ──▶ taking
//     └──┘ empty, locked, failed: a pause
//
// The worker holds a lock only in `working` and in `taking` with `acknowledge`. A stop ends every pause at
// once; the worker still waits for an answer that is on its way, and gives its items back.

import { holdLock } from '../../lambdas/foundation/shared/hold-lock.ts'
import { delay } from '../delay.ts'
import { isAtLimit, isLockLost, isQueueLocked, PushPopError } from '../errors.ts'
import type { Queue } from '../queue.ts'
import { newKey } from '../queue-calls.ts'
import { lockPauseMs, pauseMs } from '../retry.ts'
import { noAnswerIn } from '../transport.ts'
import type { Lock, Popped } from '../views.ts'
import type { Idle } from './idle.ts'
import { type Lot, settleLot, workLot } from './lot.ts'
import type { Handler } from './options.ts'
import type { Shift } from './shift.ts'

type WorkerOptions<T> = {
  readonly number: number
  readonly queue: Queue<T>
  readonly handler: Handler<T>
  readonly batch: number
  readonly ttlSeconds: number
  readonly competing: boolean
  readonly idle: Idle
  readonly shift: Shift<T>
}

/** Works until the stop. Throws errors that another try would not change. */
export async function work<T>(options: WorkerOptions<T>): Promise<void> {
  const { number, queue, handler, batch, ttlSeconds, competing, idle, shift } = options
  const { stop } = shift
  /** A finished lot, which the next pop acknowledges. */
  let finished: Lot<T> | undefined
  let key: string | undefined
  /** The answer to the pop with this key was lost: there may be a lock. */
  let mayHold = false
  let sinceMs = 0
  let failures = 0
  let timesLocked = 0

  while (!stop.aborted) {
    // If we are alone on the queue, a key is almost free, and without it a lost answer would lock us out
    // of the queue. With keys, competing pops would have to wait for each other; their lost items come back.
    key ??= competing ? undefined : newKey()
    // A repetition may return the lock that an earlier request got, whose life began then.
    if (!mayHold) sinceMs = performance.now()
    let popped: Popped<T>
    try {
      popped = await queue.pop({
        count: batch,
        requireAck: true,
        ttlSeconds,
        competing,
        hurry: stop,
        acknowledge: finished?.lock.id,
        idempotencyKey: key,
      })
    } catch (error) {
      // Locked, refused, or the answer was lost: only the previous lock can tell whether it was acknowledged.
      const held = finished
      finished = undefined
      if (held !== undefined) await acknowledgeAlone(queue, held, shift)
      if (!(error instanceof PushPopError)) throw error
      // Only this key leads to the lock, if there is one.
      mayHold ||= key !== undefined && error.outcome === 'unknown'
      if (!mayHold) key = undefined
      if (isQueueLocked(error)) {
        timesLocked += 1
        await delay(lockPauseMs(timesLocked, error.retryAfterMs), stop)
      } else if (isAtLimit(error)) {
        await delay(error.retryAfterMs, stop)
      } else if (!(held !== undefined && isLockLost(error))) {
        if (isFinal(error)) throw error
        failures += 1
        shift.report({ kind: 'request', error })
        await delay(pauseMs(failures, error.retryAfterMs), stop)
      }
      continue
    }
    key = undefined
    mayHold = false
    timesLocked = 0
    if (finished !== undefined) {
      finished.lock.letGo()
      shift.counts.acknowledged += finished.items.length
      finished = undefined
    }
    const { items, lock } = popped
    if (lock === undefined) {
      failures = 0
      // With `more` the pop has not come to the end: only the next one can tell whether there is nothing.
      if (!popped.more) await idle.foundNothing(number)
      continue
    }
    idle.foundItems(number)
    const lot = { items, lock: held(options, lock, sinceMs) }
    const verdicts = await workLot(lot, handler, shift)
    if (lot.lock.lost.aborted) {
      shift.report({ kind: 'lock-lost', items, error: lot.lock.lost.reason })
    } else if (verdicts.every(({ kind }) => kind === 'done')) {
      finished = lot
      failures = 0
      continue
    } else {
      await settleLot(queue, lot, verdicts, shift)
    }
    // Items that fail at once would come back at once, over and over.
    const allFailed = verdicts.every(({ kind }) => kind === 'back')
    failures = allFailed ? failures + 1 : 0
    if (allFailed) await delay(pauseMs(failures), stop)
  }
  if (finished !== undefined) await acknowledgeAlone(queue, finished, shift)
  if (mayHold && key !== undefined) await giveBack(options, key)
}

const held = <T>({ queue, shift }: WorkerOptions<T>, { id, ttlSeconds }: Lock, sinceMs: number) =>
  holdLock(id, {
    ttlSeconds,
    sinceMs,
    nowMs: () => performance.now(),
    sleep: delay,
    extend: (signal) => queue.extend(id, ttlSeconds, { signal }),
    late: (ms) => noAnswerIn(ms, 'unknown'),
    onTrouble: (error) => shift.report({ kind: 'request', error: error as PushPopError }),
    isLost: isLockLost,
  })

/** Asks for the lock that may exist, and releases it. The pop may also return a new lock, which we release as well. */
async function giveBack<T>(options: WorkerOptions<T>, idempotencyKey: string): Promise<void> {
  const { queue, batch, ttlSeconds, competing, shift } = options
  const request = { count: batch, requireAck: true, ttlSeconds, competing, idempotencyKey }
  try {
    const { items, lock } = await queue.pop({ ...request, hurry: shift.stop })
    if (lock === undefined) return
    await queue.release(lock.id)
    shift.counts.released += items.length
  } catch (error) {
    if (!(error instanceof PushPopError)) throw error
    if (!isQueueLocked(error)) shift.report({ kind: 'request', error })
  }
}

async function acknowledgeAlone<T>(queue: Queue<T>, lot: Lot<T>, shift: Shift<T>): Promise<void> {
  const done = lot.items.map(() => ({ kind: 'done' as const }))
  await settleLot(queue, lot, done, shift)
}

/** The address, the rights or the request are wrong, and will stay wrong. */
const isFinal = ({ retryable, outcome }: PushPopError): boolean =>
  !retryable && outcome !== 'unknown'
