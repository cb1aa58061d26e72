// The items of one lock: handled in order, then settled according to their outcomes, those that are done first. If
// the lock is lost, its items come again, whatever the handler did; if a request is refused, the rest goes back.

import type { HeldLock } from '../../shared/hold-lock.ts'
import { shortenedReason } from '../../shared/wire.ts'
import { readable } from '../../shared/worker/batch.ts'
import { retryDelayMs } from '../../shared/worker/retries.ts'
import type { Retry } from '../../shared/worker/run.ts'
import { isLockLost, PushPopError } from '../errors.ts'
import type { Consumed, ConsumeFailure, Handler, Queue } from '../queue.ts'
import type { Item } from '../views.ts'

/** What the workers of one `consume` share. */
export type Shift<T> = {
  /** Take nothing more. */
  readonly stop: AbortSignal
  /** Do not wait for handlers any more. */
  readonly graceOver: AbortSignal
  readonly counts: { -readonly [K in keyof Consumed]: Consumed[K] }
  /** If absent, failed items go back at once. */
  readonly retry: Retry | undefined
  readonly competing: boolean
  report(failure: ConsumeFailure<T>): void
}

export type Lot<T> = { readonly items: readonly Item<T>[]; readonly lock: HeldLock }

type Verdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'dead'; readonly reason: string }
  /** The handler threw, and the item should wait. */
  | { readonly kind: 'again' }
  /** The handler threw, or we did not call it any more. */
  | { readonly kind: 'back' }

const done: Verdict = { kind: 'done' }
const again: Verdict = { kind: 'again' }
const back: Verdict = { kind: 'back' }

export async function workLot<T>(
  lot: Lot<T>,
  handler: Handler<T>,
  shift: Shift<T>,
): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  for (const item of lot.items) {
    const isOver = shift.stop.aborted || lot.lock.lost.aborted
    verdicts.push(isOver ? back : await workItem(item, lot, handler, shift))
  }
  return verdicts
}

async function workItem<T>(
  item: Item<T>,
  { lock }: Lot<T>,
  handler: Handler<T>,
  shift: Shift<T>,
): Promise<Verdict> {
  let reason: string | undefined
  const forNothing = new AbortController()
  const giveUp = () => forNothing.abort(lock.lost.reason ?? shift.graceOver.reason)
  lock.lost.addEventListener('abort', giveUp)
  shift.graceOver.addEventListener('abort', giveUp)
  if (shift.graceOver.aborted) giveUp()
  const context = {
    signal: forNothing.signal,
    lockId: lock.id,
    deadLetter(given: string) {
      reason = shortenedReason(given)
    },
  }
  let verdict = done
  try {
    const work = (async () => handler(item, context))()
    if ((await firstOf(work, shift.graceOver)) === 'signal') verdict = back
  } catch (error) {
    shift.report({ kind: 'handler', item, error: readable(error) })
    verdict = shift.retry === undefined ? back : again
  } finally {
    lock.lost.removeEventListener('abort', giveUp)
    shift.graceOver.removeEventListener('abort', giveUp)
  }
  return reason === undefined ? verdict : { kind: 'dead', reason }
}

async function firstOf(work: Promise<unknown>, signal: AbortSignal): Promise<'work' | 'signal'> {
  let stop = () => {}
  const signalled = new Promise<'signal'>((resolve) => {
    stop = () => resolve('signal')
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([work.then(() => 'work' as const), signalled])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

type Step = {
  readonly kind: Verdict['kind']
  readonly reason?: string
  readonly ids: readonly string[]
}

/** The requests that settle a lot. Finished items come first, because nobody should do them again. */
function stepsFor<T>(items: readonly Item<T>[], verdicts: readonly Verdict[]): Step[] {
  const idsWhere = (wanted: (verdict: Verdict) => boolean) =>
    items.filter((_, i) => wanted(verdicts[i] ?? back)).map(({ id }) => id)
  const reasons = new Set(verdicts.flatMap((it) => (it.kind === 'dead' ? [it.reason] : [])))
  const steps: Step[] = [
    { kind: 'done', ids: idsWhere(({ kind }) => kind === 'done') },
    ...[...reasons].map((reason): Step => {
      const ids = idsWhere((it) => it.kind === 'dead' && it.reason === reason)
      return { kind: 'dead', reason, ids }
    }),
    { kind: 'again', ids: idsWhere(({ kind }) => kind === 'again') },
    { kind: 'back', ids: idsWhere(({ kind }) => kind === 'back') },
  ]
  return steps.filter(({ ids }) => ids.length > 0)
}

/** Settles a lot whose items had different outcomes. It never throws, and it ends the lock. */
export async function settleLot<T>(
  queue: Queue<T>,
  lot: Lot<T>,
  verdicts: readonly Verdict[],
  shift: Shift<T>,
): Promise<void> {
  const steps = stepsFor(lot.items, verdicts)
  let refused = false
  try {
    for (const [at, step] of steps.entries()) {
      // The last step settles all items left in the lock. That may include items that an earlier step failed
      // to settle: they may come again, but must not be dead-lettered with the others.
      const isRest = at === steps.length - 1 && (!refused || step.kind === 'back')
      const ids = isRest ? undefined : step.ids
      try {
        await settleStep(queue, lot, step, ids, shift)
      } catch (error) {
        if (!(error instanceof PushPopError)) throw error
        if (isLockLost(error)) {
          const unsettled = new Set(steps.slice(at).flatMap((it) => it.ids))
          const items = lot.items.filter(({ id }) => unsettled.has(id))
          return shift.report({ kind: 'lock-lost', items, error })
        }
        shift.report({ kind: 'request', error })
        refused = true
      }
    }
    if (refused) await queue.release(lot.lock.id).catch(() => {})
  } finally {
    lot.lock.letGo()
  }
}

async function settleStep<T>(
  queue: Queue<T>,
  { items, lock: { id: lockId } }: Lot<T>,
  { kind, reason = '', ids: all }: Step,
  ids: readonly string[] | undefined,
  { counts, retry, competing }: Shift<T>,
): Promise<void> {
  switch (kind) {
    case 'done':
      await queue.acknowledge(lockId, { ids })
      counts.acknowledged += all.length
      return
    case 'dead':
      await queue.deadLetter(lockId, { ids, reason })
      counts.deadLettered += all.length
      return
    case 'again': {
      if (retry === undefined) return
      const failed = items.filter(({ id }) => all.includes(id))
      const deliveries = Math.max(...failed.map((item) => item.deliveries))
      const delaySeconds = Math.ceil(retryDelayMs(retry, deliveries, Math.random) / 1_000)
      const overtake = competing || retry.overtake
      await queue.release(lockId, { ids, delaySeconds, overtake })
      counts.released += all.length
      return
    }
    case 'back':
      await queue.release(lockId, { ids })
      counts.released += all.length
      return
    default:
      throw kind satisfies never
  }
}
