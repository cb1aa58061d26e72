// Works one queue over HTTP, with a few workers at once. A worker takes a lot, works it, and takes the next with the
// request that acknowledges this one.
//
//   taking ──items──▶ working ──all done──▶ taking, with `acknowledge`
//     │  ▲               └────otherwise──▶ settling ──▶ (a pause if all failed) ──▶ taking
//     └──┘ empty, locked, failed: a pause
//
// A worker holds a lock only in `working` and in `taking` with `acknowledge`. A stop ends every pause at once; the
// worker still waits for an answer that is on its way, and gives its items back. If the answer to a pop is lost, its
// key leads to the lock that it may have got. On an empty queue, one worker looks for all of them, less and less
// often.

import { LOCK_TTL_SECONDS_DEFAULT } from '../../shared/bounds.ts'
import { holdLock } from '../../shared/hold-lock.ts'
import { checkOptions, type Names } from '../../shared/options.ts'
import { inShort, retryOf } from '../../shared/worker/retries.ts'
import { checkHandler } from '../../shared/worker/run.ts'
import { untilGrace } from '../../shared/worker/which-queues.ts'
import { isAtLimit, isLockLost, isQueueLocked, PushPopError } from '../errors.ts'
import type { Consumed, ConsumeFailure, ConsumeOptions, Handler, Queue } from '../queue.ts'
import { newKey } from '../queue-calls.ts'
import { lockPauseMs, pauseMs } from '../retry.ts'
import { delay, noAnswerIn } from '../transport.ts'
import type { Lock, Popped } from '../views.ts'
import { type Lot, type Shift, settleLot, workLot } from './batch.ts'

const names: Names<ConsumeOptions> = {
  concurrency: 0,
  batchSize: 0,
  lockTtlSeconds: 0,
  retry: 0,
  competing: 0,
  graceMs: 0,
  idleMsMax: 0,
  onError: 0,
  signal: 0,
}

/** The longest time that an item waits for a consumer that has found the queue empty for a while. */
const IDLE_MS_MAX = 5_000

/**
 * Works a queue until the signal comes, and resolves when it holds no lock any more. If the service refuses
 * for good (rights, address, parameters), it settles the items that it holds, and then rejects.
 */
export async function consume<T>(
  queue: Queue<T>,
  handler: Handler<T>,
  options: ConsumeOptions<T> = {},
): Promise<Consumed> {
  checkHandler(handler)
  checkOptions(options, names)
  const { concurrency = 1, signal, graceMs } = options
  const batch = options.batchSize ?? 1
  const ttlSeconds = options.lockTtlSeconds ?? LOCK_TTL_SECONDS_DEFAULT
  const { competing = concurrency > 1, onError = toConsole, idleMsMax = IDLE_MS_MAX } = options
  check(concurrency, competing)

  const { stop, graceOver, halt, over } = untilGrace(signal, graceMs)
  let failure: { readonly error: unknown } | undefined
  const fail = (error: unknown) => {
    failure ??= { error }
    halt()
  }
  const shift: Shift<T> = {
    retry: options.retry === undefined ? undefined : retryOf(options.retry),
    competing,
    stop,
    graceOver,
    counts: { acknowledged: 0, released: 0, deadLettered: 0 },
    report(one) {
      try {
        onError(one)
      } catch (error) {
        fail(error)
      }
    },
  }
  const idle = idleQueue(stop, idleMsMax)
  const shared = { queue, handler, batch, ttlSeconds, competing, idle, shift }
  const workers = Array.from({ length: concurrency }, (_, number) =>
    work({ ...shared, number }).catch(fail),
  )
  await Promise.all(workers)
  over()
  if (failure !== undefined) throw failure.error
  return shift.counts
}

function check(concurrency: number, competing: boolean): void {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`concurrency must be an integer from 1, and is ${concurrency}`)
  }
  if (concurrency > 1 && !competing) {
    throw new TypeError(
      `Cannot consume ${concurrency} locks at once without competing consumers: on an exclusive queue one lock is live`,
    )
  }
}

function toConsole<T>(failure: ConsumeFailure<T>): void {
  console.error(`PushPop: ${sentences[failure.kind]}:`, inShort(failure.kind, failure.error))
}

const sentences: Readonly<Record<ConsumeFailure['kind'], string>> = {
  handler: 'a handler failed, and its item goes back to the queue unless it was dead-lettered',
  'lock-lost': 'a lock ended before its items were settled, and they are delivered again',
  request: 'a request failed and is tried again',
}

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
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one loop, whose turns hand seven variables on
async function work<T>(options: WorkerOptions<T>): Promise<void> {
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

const FIRST_PAUSE_MS = 100

type Idle = {
  /** This worker found nothing. Resolves when it should look again. */
  foundNothing(worker: number): Promise<void>
  /** This worker found something: there may be more for the others. */
  foundItems(worker: number): void
}

function idleQueue(stop: AbortSignal, idleMsMax: number): Idle {
  /** The worker that looks; the others wait until it wakes them. */
  let scout: number | undefined
  let emptyLooks = 0
  let wake = new AbortController()
  stop.addEventListener('abort', () => wake.abort())

  return {
    async foundNothing(worker) {
      if (scout !== undefined && scout !== worker) return woken(wake.signal)
      scout = worker
      emptyLooks += 1
      await delay(idlePauseMs(emptyLooks, idleMsMax), wake.signal)
    },
    foundItems(worker) {
      if (scout === worker) scout = undefined
      emptyLooks = 0
      if (stop.aborted) return
      wake.abort()
      wake = new AbortController()
    },
  }
}

/** Doubles up to a bound, minus up to half at random, so that many consumers do not come at once. */
export function idlePauseMs(emptyLooks: number, idleMsMax: number, random = Math.random): number {
  const bound = Math.min(idleMsMax, FIRST_PAUSE_MS * 2 ** (emptyLooks - 1))
  return bound * (0.5 + random() / 2)
}

const woken = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
