import { delay } from '../delay.ts'
import { PushPopError } from '../errors.ts'
import type { DecideOptions, RateLimit } from './limit.ts'
import type { Denied, Promised } from './views.ts'

export type WaitOptions = Omit<DecideOptions, 'canWait' | 'maxWaitMs'> & {
  /** If the turn is later than this, the answer comes at once, with a ticket. Default 60,000. */
  readonly maxWaitMs?: number | undefined
}

export type Waited = { readonly kind: 'allowed' } | Denied | Promised

/** As long as the client retries one call. */
const WAIT_MS = 60_000
/** The longest timer: a longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Takes a place in line, sleeps until its turn, and has the ticket verified before it goes: a timer may be early,
 * and a machine that slept may be late. If it is too late, it asks again, because the place was kept only for its
 * window. No call waits in the service meanwhile (`maxWaitMs=0`), so waiting costs a second request.
 */
export async function wait(
  limit: Pick<RateLimit, 'decide' | 'verify' | 'giveUp'>,
  { maxWaitMs = WAIT_MS, ...options }: WaitOptions = {},
): Promise<Waited> {
  const { signal } = options
  const ask = () => limit.decide({ ...options, canWait: true, maxWaitMs: 0 })
  const startedAtMs = performance.now()
  const isSoonEnough = ({ waitMs }: Promised) =>
    performance.now() - startedAtMs + waitMs <= maxWaitMs

  let decision = await ask()
  while (decision.kind === 'promised' && isSoonEnough(decision)) {
    const { ticket, waitMs } = decision
    await delay(Math.min(waitMs, TIMER_MS_MAX), signal)
    if (signal?.aborted) throw leaving(limit, ticket, signal)
    const state = await limit.verify(ticket, { signal })
    switch (state.kind) {
      case 'ready':
        return { kind: 'allowed' }
      case 'waiting':
        decision = { ...decision, waitMs: state.retryAfterMs }
        break
      case 'over':
        decision = await ask()
        break
      default:
        throw state satisfies never
    }
  }
  return decision.kind === 'allowed' ? { kind: 'allowed' } : decision
}

/** Gives the place up in the background: an abort does not wait for that, and ignores a failure. */
function leaving({ giveUp }: Pick<RateLimit, 'giveUp'>, ticket: string, signal: AbortSignal) {
  giveUp(ticket).catch(() => {})
  return new PushPopError('ABORTED', 'The wait was given up because its signal was aborted', {
    outcome: 'unknown',
    cause: signal.reason,
  })
}
