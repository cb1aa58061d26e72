// Works one queue. A worker takes a lot, works it, and takes the next with the request that acknowledges this one.
//
//   taking ──items──▶ working ──all done──▶ taking, with `acknowledge`
//     │                  └────otherwise──▶ settling ──▶ releasing what failed for later ──▶ taking
//     │                                                     └──others wait for it too long──▶ end
//     ├── empty, locked, crowded ──▶ end, or a short wait for what failed
//     └── no time for more ──▶ acknowledging ──▶ end, and the run calls the next
//
// A worker leaves a queue only when something will bring another: `docs/decisions/0020` goes through the
// ends. One that dies on the way leaves a lock, whose end is an event, or an event that Lambda delivers again.

import { isAllDone, type Lot, settle, type Verdicts, workLot } from './batch.ts'
import {
  heldLock,
  insist,
  isLockLost,
  isPassing,
  limitPauseMs,
  refusalIn,
  retryDelayMs,
  sitsOut,
  troublePauseMs,
} from './retries.ts'
import { type Ending, itemOf, type Popped, passesBy, type Run } from './run.ts'

/** `comesBack`: the first item has failed before, and the worker takes it alone. */
export async function work(run: Run, comesBack: boolean): Promise<Ending> {
  /** A finished lot, which the next pop acknowledges. */
  let finished: Lot | undefined
  let held: Lot | undefined
  let alone = comesBack
  /** When the items that this worker released come back, while others pass them. */
  let retriesMs: number[] = []
  /** How often in a row everything failed, and came again at once. */
  let failures = 0
  try {
    for (;;) {
      const lot = await take(run, finished, alone)
      finished = undefined
      if (lot === 'empty' && retriesMs.length > 0) {
        const nextMs = Math.min(...retriesMs)
        retriesMs = retriesMs.filter((ms) => ms > nextMs)
        if (await sitOut(run, nextMs)) continue
      }
      if (typeof lot === 'string') return lot
      held = lot
      const verdicts = await workLot(run, lot)
      const allFailed = verdicts.failed.length === lot.items.length
      failures = allFailed && run.settings.retry === undefined ? failures + 1 : 0
      // In a batch, one bad item may make all of them fail, so failed items come back one by one.
      alone =
        !run.settings.oneByOne &&
        (verdicts.back.length > 0 || lot.items.some(({ deliveries }) => deliveries > 1))
      if (lot.lock.lost.aborted) {
        run.edge.report({ kind: 'lock-lost', items: lot.items, error: lot.lock.lost.reason })
      } else if (isAllDone(verdicts)) {
        finished = lot
      } else if ((await settle(run, lot, verdicts)) && verdicts.back.length > 0) {
        const backMs = await comeAgain(run, lot, verdicts)
        if (failures > 0) await pauseAfter(run, failures - 1)
        if (backMs === undefined) continue
        if (passesBy(run.settings)) retriesMs.push(backMs)
        // Until then, no pop returns the items behind it.
        else if (!(await sitOut(run, backMs))) return 'waiting'
      }
    }
  } finally {
    // Whatever went wrong, do not extend a lock under which nobody works.
    held?.lock.letGo()
  }
}

/**
 * Whether the first item has been delivered before. If so, the worker takes it alone, so that it cannot
 * fail a batch of others again. This is one read, which the engine's pop then need not do. Where we cannot
 * know (others hold locks there), it is safer to begin with a single item.
 */
export async function comesBackFirst({ queue, settings, edge }: Run): Promise<boolean> {
  if (settings.batchSize === 1) return false
  try {
    const [first] = (await edge.queues.browse(queue, { limit: 1 })).items
    return first !== undefined && (first.state !== 'ready' || first.deliveries > 0)
  } catch (error) {
    if (!isPassing(error)) throw error
    return true
  }
}

/** Takes the next lot with a pop that acknowledges `before`; if there is none, returns how this worker ends. */
async function take(run: Run, before: Lot | undefined, single: boolean): Promise<Lot | Ending> {
  const { queue, settings, edge } = run
  const { queues, clock } = edge
  const { batchSize, lockTtlSeconds: ttlSeconds, competing } = settings
  let finished = before
  let alone = single
  // If we are alone on the queue, a key is almost free, and without it a lost answer would lock us out
  // of the queue. With keys, competing pops would have to wait for each other; their lost items come back.
  const newKey = () => (competing ? undefined : edge.newKey())
  let key = newKey()
  /** An answer was lost: if there is a lock, only this key leads to it. */
  let inDoubt = false
  let sinceMs = 0
  let troubles = 0

  for (;;) {
    if (!run.mayTakeMore(inDoubt)) {
      if (finished !== undefined) await acknowledge(run, finished)
      return 'continued'
    }
    // A repetition may return the lock that an earlier request got, whose life began then.
    if (!inDoubt) sinceMs = clock.nowMs()
    const count = alone ? 1 : batchSize
    const request = { requireAck: true, count, ttlSeconds, competing } as const
    let popped: Popped
    try {
      popped = await queues.pop(queue, {
        ...request,
        ...(finished !== undefined && { acknowledge: finished.lock.id }),
        ...(key !== undefined && { idempotencyKey: key }),
      })
    } catch (error) {
      // The pop was refused, or its answer lost: only the lock can tell whether the previous lot was acknowledged.
      const held = finished
      finished = undefined
      if (held !== undefined) await acknowledge(run, held)
      if (held !== undefined && isLockLost(error)) continue
      const refusal = refusalIn(error)
      if (refusal?.code === 'TOO_MANY_LOCKS') return 'crowded'
      // A gateway may refuse as well, and does not say for how long: that is a trouble like others.
      if (refusal?.code === 'RATE_LIMITED' && refusal.retryAfterMs !== undefined) {
        const { retryAfterMs } = refusal
        // If a lock waits for our key, it must not end before we come back: its items would count as delivered.
        const lockEndsMs = inDoubt ? sinceMs + ttlSeconds * 1_000 : Number.NEGATIVE_INFINITY
        if (run.comeBack !== undefined && clock.nowMs() + retryAfterMs >= lockEndsMs) {
          run.comeBack(retryAfterMs)
          return 'waiting'
        }
        // No event comes when the next window opens, so this run waits for it, or the next one does.
        await clock.sleep(limitPauseMs(retryAfterMs, run.remainingMs()), run.hurry)
        continue
      }
      troubles += 1
      if (!isPassing(error) || troubles > run.troublesMax) throw error
      edge.report({ kind: 'request', what: 'pop', error })
      inDoubt ||= key !== undefined && refusal?.outcome === 'unknown'
      await pauseAfter(run, troubles)
      continue
    }
    const lot = await lotOf(run, popped, finished, { count, sinceMs })
    if (lot !== 'late' && lot !== 'further') return lot
    finished = undefined
    key = newKey()
    inDoubt = false
    troubles = 0
    alone ||= lot === 'late'
  }
}

/** The result of a pop. `late`: the answer took longer than the lock lives; `further`: it has not reached the end. */
async function lotOf(
  run: Run,
  popped: Popped,
  finished: Lot | undefined,
  { count, sinceMs }: { readonly count: number; readonly sinceMs: number },
): Promise<Lot | Ending | 'late' | 'further'> {
  const { queue, edge, counts } = run
  const { lockTtlSeconds: ttlSeconds } = run.settings
  if (popped.kind === 'locked') {
    if (finished !== undefined) await acknowledge(run, finished)
    return 'locked'
  }
  if (finished !== undefined) {
    finished.lock.letGo()
    counts.acknowledged += finished.items.length
  }
  if (popped.kind === 'empty') return popped.more ? 'further' : 'empty'
  if (popped.lock === undefined) return 'empty'
  const items = popped.items.map(itemOf)
  if (edge.clock.nowMs() - sinceMs >= ttlSeconds * 1000) {
    // By now another consumer has these items, or soon will.
    edge.report({ kind: 'answer-late', items })
    return 'late'
  }
  if (popped.more || items.length === count) run.foundPlenty()
  return { items, lock: heldLock(edge, queue, popped.lock.id, { ttlSeconds, sinceMs }) }
}

/**
 * Releases the items that should come again: the failed ones, and those that must stay behind them, with a delay.
 * Returns when they are back.
 */
async function comeAgain(
  run: Run,
  lot: Lot,
  { back, failed }: Verdicts,
): Promise<number | undefined> {
  const { queue, edge, counts, settings } = run
  const { queues, clock, random } = edge
  const { lock } = lot
  const overtake = passesBy(settings)
  const deliveries = Math.max(...failed.map((item) => item.deliveries))
  const { retry } = settings
  const delayMs =
    failed.length > 0 && retry !== undefined ? retryDelayMs(retry, deliveries, random) : 0
  const delaySeconds = Math.ceil(delayMs / 1_000)
  const later = delaySeconds === 0 ? {} : { delaySeconds, overtake }
  const release = (how: object) =>
    insist(run, () => queues.release(queue, { lockId: lock.id, ...how }))
  try {
    if (overtake && 0 < failed.length && failed.length < back.length) {
      // Other items should not overtake those that were not tried.
      await release({ ids: failed.map(({ id }) => id), ...later })
      await release({})
    } else await release(later)
  } catch (error) {
    if (!isLockLost(error)) throw error
    edge.report({ kind: 'lock-lost', items: lot.items, error })
    return undefined
  } finally {
    lock.letGo()
  }
  counts.released += back.length
  return delaySeconds === 0 ? undefined : clock.nowMs() + delaySeconds * 1_000
}

/**
 * Waits until then, if that is soon. A run on many queues does not wait for a single one: the list shows when it is
 * ready.
 */
async function sitOut(run: Run, untilMs: number): Promise<boolean> {
  const { clock } = run.edge
  const delayMs = Math.max(0, untilMs - clock.nowMs())
  if (run.comeBack !== undefined || !sitsOut(delayMs, run.remainingMs())) return false
  // Other workers of this run would not have extended their locks by then.
  if (clock.skip && run.settings.locks === 1) await clock.skip(delayMs, run.timeOver)
  else await clock.sleep(delayMs, run.timeOver)
  return true
}

const pauseAfter = ({ edge: { clock, random }, hurry }: Run, failures: number): Promise<void> =>
  clock.sleep(troublePauseMs(failures, random), hurry)

async function acknowledge(run: Run, lot: Lot): Promise<void> {
  await settle(run, lot, {
    done: lot.items.map(({ id }) => id),
    dead: new Map(),
    back: [],
    failed: [],
  })
}
