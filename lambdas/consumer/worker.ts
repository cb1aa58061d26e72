// A worker takes a lot, works it, and takes the next with the request that acknowledges this one.
//
//   taking ──items──▶ working ──all done──▶ taking, with `acknowledge`
//     │                  └────otherwise──▶ settling ──▶ waiting with the lock ──▶ releasing ──▶ taking
//     │                                                     └──too long──▶ the lock ends by itself
//     ├── empty, locked, crowded ──▶ end
//     └── no time for more ──▶ acknowledging ──▶ end, and the run calls the next
//
// It leaves a queue only when somebody else will come; `docs/decisions/0020` goes through the ends. And
// whoever dies on the way leaves a lock, whose end is an event, or an event that Lambda delivers again.

import type { PopOutcome } from '../engine/queues.ts'
import { QueueError } from '../foundation/errors.ts'
import { randomText } from '../foundation/random-text.ts'
import { describeError } from '../runtime/log.ts'
import { heldLock, isLockLost } from './hold-lock.ts'
import { insist, isPassing } from './insist.ts'
import { itemOf } from './item.ts'
import { type Lot, settle, workLot } from './lot.ts'
import {
  howToWait,
  limitPauseMs,
  mayTakeMore,
  RETRY_MS_MAX,
  retryDelayMs,
  TROUBLES_MAX,
  troublePauseMs,
} from './pace.ts'
import type { Ending, Run } from './run.ts'
import { isAllDone, type Verdicts } from './verdicts.ts'

/** `comesBack`: what is in front has failed before, and is to be taken by itself. */
export async function work(run: Run, comesBack: boolean): Promise<Ending> {
  const { queue, settings, edge, counts } = run
  const { queues, clock, random } = edge
  const { batchSize, lockTtlSeconds, competing } = settings
  /** Done, and acknowledged with the next pop. */
  let finished: Lot | undefined
  let key: string | undefined
  let alone = comesBack
  let troubles = 0

  for (;;) {
    if (!mayTakeMore(run.remainingMs(), run.longestMs)) {
      if (finished !== undefined) await acknowledge(run, finished)
      return 'continued'
    }
    // Alone on the queue a key is almost free, and without it a lost answer would lock the queue
    // against ourselves. Competing pops would have to queue up for it; their lost items come back.
    key ??= competing ? undefined : randomText(random, 22)
    const sinceMs = clock.nowMs()
    let popped: PopOutcome
    try {
      popped = await queues.pop(queue, {
        requireAck: true,
        count: alone ? 1 : batchSize,
        ttlSeconds: lockTtlSeconds,
        competing,
        ...(finished !== undefined && { acknowledge: finished.lock.id }),
        ...(key !== undefined && { idempotencyKey: key }),
      })
    } catch (error) {
      // Refused or lost: whether the lot before was acknowledged only its lock can tell.
      const held = finished
      finished = undefined
      if (held !== undefined) await acknowledge(run, held)
      if (held !== undefined && isLockLost(error)) continue
      if (error instanceof QueueError && error.code === 'TOO_MANY_LOCKS') return 'crowded'
      if (error instanceof QueueError && error.code === 'RATE_LIMITED') {
        // No event comes when the next window opens: it is waited for, here or in the next run.
        key = undefined
        await clock.sleep(limitPauseMs(error.retryAfterMs ?? 0, run.remainingMs()), run.timeOver)
        continue
      }
      troubles += 1
      if (!isPassing(error) || troubles > TROUBLES_MAX) throw error
      edge.log.write('warn', 'pop failed', { queue, error: describeError(error) })
      // Only this key leads to the lock, if there is one.
      if ((error as QueueError).outcome !== 'unknown') key = undefined
      await clock.sleep(troublePauseMs(troubles, random))
      continue
    }
    key = undefined
    troubles = 0

    if (popped.kind === 'locked') {
      if (finished !== undefined) await acknowledge(run, finished)
      return 'locked'
    }
    if (finished !== undefined) {
      finished.lock.letGo()
      counts.acknowledged += finished.items.length
      finished = undefined
    }
    if (popped.kind === 'empty' || popped.lock === undefined) return 'empty'

    if (clock.nowMs() - sinceMs >= lockTtlSeconds * 1000) {
      // The answer took longer than the lock lives: what is in it is somebody else's by now, or soon.
      edge.log.write('warn', 'a lock was over when it was told of', { queue })
      alone = true
      continue
    }
    const items = popped.items.map(itemOf)
    if (popped.more || items.length === (alone ? 1 : batchSize)) run.foundPlenty()
    const lock = heldLock(edge, queue, popped.lock.id, { ttlSeconds: lockTtlSeconds, sinceMs })
    const lot: Lot = { items, lock }
    const verdicts = await workLot(run, lot)
    // In a batch one item may be the death of all: what failed comes back one by one.
    alone = verdicts.back.length > 0 || items.some(({ deliveries }) => deliveries > 1)
    if (lock.lost.aborted) {
      edge.log.write('warn', 'lock lost, its items come again', {
        queue,
        error: describeError(lock.lost.reason),
      })
    } else if (isAllDone(verdicts)) {
      finished = lot
    } else if ((await settle(run, lot, verdicts)) && verdicts.back.length > 0) {
      const isLeft = !(await comeAgain(run, lot, verdicts))
      // Behind it nobody gets anything; and where runs compete the others go on.
      if (isLeft && !competing) return 'waiting'
    }
  }
}

/** Gives back what failed, when its time has come. False: its lock does that, later. */
async function comeAgain(run: Run, lot: Lot, { back }: Verdicts): Promise<boolean> {
  const { queue, edge, counts } = run
  const { queues, clock, random } = edge
  const { lock } = lot
  const delayMs = retryDelayMs(Math.max(...back.map(({ deliveries }) => deliveries)), random)
  const how = howToWait(delayMs, run.remainingMs())
  try {
    if (how === 'here') {
      await clock.sleep(delayMs, lock.lost)
      await insist(edge, () => queues.release(queue, { lockId: lock.id }))
    } else {
      // Nothing lengthens it after this but an extension that is under way, by no more than its life.
      lock.letGo()
      const ttlSeconds = Math.ceil(Math.min(delayMs, RETRY_MS_MAX) / 1000)
      await insist(edge, () => queues.extend(queue, { lockId: lock.id, ttlSeconds }))
    }
  } catch (error) {
    if (!isLockLost(error)) throw error
    edge.log.write('warn', 'lock lost, its items come again', {
      queue,
      error: describeError(error),
    })
  } finally {
    lock.letGo()
  }
  counts.released += back.length
  return how === 'here'
}

async function acknowledge(run: Run, lot: Lot): Promise<void> {
  await settle(run, lot, { done: lot.items.map(({ id }) => id), dead: new Map(), back: [] })
}
