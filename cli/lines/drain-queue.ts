// Drains a queue into lines. Items are locked, written, and only then acknowledged: if the process is
// killed at any moment, each item is in the queue, in the lines, or in both; never in neither.

import { delay } from '../../client/transport.ts'
import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { PopOutcome, PoppedItem } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import { codeOf } from '../explain.ts'
import { queueLocked } from '../target/locked-queue.ts'
import type { Target } from '../target/target.ts'
import { holding, TTL_SECONDS } from './held-lock.ts'

type DrainRun = {
  readonly target: Target
  readonly queue: string
  readonly limit: number
  readonly competing: boolean
  readonly interrupt: AbortSignal
  /** Resolves when the items are safely where they belong. */
  write(items: readonly PoppedItem[]): Promise<void>
  onDrained(count: number): void
  /** The queue's limit makes it wait. */
  onWait(error: AtLimit): void
}

/** As long as the client waits for a call that the service refuses for the moment. */
const WAIT_MS_MAX = 60_000

/** Each pop acknowledges the batch before it: one request for each hundred items. */
export async function drainQueue(run: DrainRun): Promise<{ drained: number }> {
  const { target, queue, limit, interrupt } = run
  let drained = 0
  /** The lock of items that are written, and not acknowledged yet. */
  let written: string | undefined
  const acknowledge = async (): Promise<void> => {
    if (written === undefined) return
    await target.acknowledge(queue, { lockId: written })
    written = undefined
  }
  try {
    while (drained < limit && !interrupt.aborted) {
      const count = Math.min(ITEMS_PER_POP_MAX, limit - drained)
      const popped = await popNext(run, count, { written, acknowledge })
      if (popped === undefined) break
      // Somebody else has the lock: then this pop did nothing, and acknowledged nothing.
      if (popped.kind === 'locked') {
        await acknowledge()
        throw queueLocked('drain', queue, popped.expiresAtMs)
      }
      written = undefined
      if (popped.kind === 'empty' && popped.more) continue
      if (popped.kind === 'empty') break
      const { items, lock } = popped
      if (lock === undefined) throw new Error('A pop that asked for a lock got items without one')
      if (interrupt.aborted) {
        await target.release(queue, { lockId: lock.id })
        break
      }
      await writeOrRelease(run, lock.id, items)
      written = lock.id
      drained += items.length
      run.onDrained(drained)
    }
  } finally {
    await acknowledge()
  }
  return { drained }
}

type Before = { readonly written: string | undefined; acknowledge(): Promise<void> }

/**
 * A pop that the queue's limit refuses acknowledges nothing. So we acknowledge before we wait: nobody should hold a
 * lock meanwhile. Returns nothing if Ctrl-C ended the wait.
 */
async function popNext(
  { target, queue, competing, interrupt, onWait }: DrainRun,
  count: number,
  { written, acknowledge }: Before,
): Promise<PopOutcome | undefined> {
  const request = { count, requireAck: true, ttlSeconds: TTL_SECONDS, competing }
  const untilMs = performance.now() + WAIT_MS_MAX
  for (let acknowledging = written; !interrupt.aborted; acknowledging = undefined) {
    try {
      return await target.pop(queue, present({ ...request, acknowledge: acknowledging }))
    } catch (error) {
      if (!isAtLimit(error)) throw error
      await acknowledge()
      if (performance.now() + error.retryAfterMs > untilMs) throw error
      onWait(error)
      await delay(error.retryAfterMs, interrupt)
    }
  }
  return undefined
}

type AtLimit = Error & { readonly retryAfterMs: number }

/** The engine's error or the client's; after a lost answer, the pop may have locked items all the same. */
const isAtLimit = (error: unknown): error is AtLimit =>
  codeOf(error) === 'RATE_LIMITED' &&
  (error as Partial<AtLimit>).retryAfterMs !== undefined &&
  (error as { outcome?: unknown }).outcome === undefined

async function writeOrRelease(
  { target, queue, write }: DrainRun,
  lockId: string,
  items: readonly PoppedItem[],
): Promise<void> {
  try {
    await holding(target, queue, lockId, () => write(items))
  } catch (error) {
    // The disk is full, or the reader has gone: others may have the items at once. If that fails too,
    // its error says less than the first one.
    await target.release(queue, { lockId }).catch(() => {})
    throw error
  }
}
