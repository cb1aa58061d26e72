// Drains a queue into lines. Items are locked, written, and only then acknowledged: if the process is
// killed at any moment, each item is in the queue, in the lines, or in both; never in neither.

import { ITEMS_PER_POP_MAX } from '../../lambdas/engine/core/limits.ts'
import type { PopOutcome, PoppedItem } from '../../lambdas/engine/queues.ts'
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
}

type Lock = { readonly id: string; readonly items: number }

/** Each pop acknowledges the batch before it: one request for each hundred items. */
export async function drainQueue(run: DrainRun): Promise<{ drained: number }> {
  const { target, queue, limit, interrupt } = run
  let drained = 0
  /** Written, and not acknowledged yet. */
  let written: Lock | undefined
  try {
    while (drained < limit && !interrupt.aborted) {
      const count = Math.min(ITEMS_PER_POP_MAX, limit - drained)
      const popped = await popNext(run, count, written)
      written = undefined
      if (popped.kind === 'locked') throw queueLocked('drain', queue, popped.expiresAtMs)
      if (popped.kind === 'empty' && popped.more) continue
      if (popped.kind === 'empty') break
      const { items, lock } = popped
      if (lock === undefined) throw new Error('A pop that asked for a lock got items without one')
      if (interrupt.aborted) {
        await target.release(queue, { lockId: lock.id })
        break
      }
      await writeOrRelease(run, lock.id, items)
      written = { id: lock.id, items: items.length }
      drained += items.length
      run.onDrained(drained)
    }
  } finally {
    if (written !== undefined) await target.acknowledge(queue, { lockId: written.id })
  }
  return { drained }
}

/** If the pop that should acknowledge is refused, the acknowledgement is sent once more by itself. */
async function popNext(
  { target, queue, competing }: DrainRun,
  count: number,
  written: Lock | undefined,
): Promise<PopOutcome> {
  const request = { count, requireAck: true, ttlSeconds: TTL_SECONDS, competing }
  if (written === undefined) return target.pop(queue, request)
  const popped = await target.pop(queue, { ...request, acknowledge: written.id })
  // Somebody else has the lock: then this pop did nothing, and acknowledged nothing.
  if (popped.kind === 'locked') await target.acknowledge(queue, { lockId: written.id })
  return popped
}

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
