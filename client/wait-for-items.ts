import { isQueueLocked, PushPopError } from './errors.ts'
import { interrupted } from './transport.ts'
import type { Popped } from './views.ts'

/** The answer to one request. */
export type Asked<T> = {
  readonly popped: Popped<T>
  /** Set if the call should have waited, but too many others do: when to come back. */
  readonly retryAfterMs: number | undefined
}

type Wait = {
  readonly waitSeconds: number
  readonly signal?: AbortSignal | undefined
  readonly hurry?: AbortSignal | undefined
}

/**
 * If the service cannot let a pop wait, the client asks again after the pause that the service names, and once more at
 * the end. So the call waits as long as its caller wants, and a loop around it is no busy loop.
 */
export async function waitForItems<T>(
  { waitSeconds, signal, hurry }: Wait,
  ask: (waitSeconds: number | undefined, isFirst: boolean) => Promise<Asked<T>>,
): Promise<Popped<T>> {
  const untilMs = performance.now() + waitSeconds * 1_000
  let { popped, retryAfterMs } = await ask(waitSeconds, true)
  const { itemsAcknowledged } = popped
  while (retryAfterMs !== undefined) {
    const leftMs = untilMs - performance.now()
    if (leftMs <= 0 || hurry?.aborted) break
    await interrupted(Math.min(leftMs, retryAfterMs), signal, hurry)
    if (hurry?.aborted && !signal?.aborted) break
    const seconds = Math.floor((untilMs - performance.now()) / 1_000)
    try {
      const asked = await ask(seconds > 0 ? seconds : undefined, false)
      popped = asked.popped
      retryAfterMs = asked.retryAfterMs
    } catch (error) {
      if (itemsAcknowledged === undefined || !(error instanceof PushPopError)) throw error
      // The first request has acknowledged a lock, so this error must not mean "nothing was changed".
      if (!isQueueLocked(error) || error.outcome === 'unknown') {
        throw Object.assign(error, { outcome: 'unknown' })
      }
      break
    }
  }
  return itemsAcknowledged === undefined ? popped : { ...popped, itemsAcknowledged }
}
