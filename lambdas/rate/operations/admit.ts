import { WAIT_MS_DEFAULT, WAIT_MS_MAX } from '../core/bounds.ts'
import { checkInteger } from '../core/settings.ts'
import { ticketOf } from '../core/ticket.ts'
import {
  type Allowed,
  type Denied,
  decideRate,
  type OverrideRefused,
  type Promised,
  type RateRequest,
} from './decide.ts'
import { type Limiter, nowMs } from './limiter.ts'

export type AdmitRequest = RateRequest & {
  /** How long the call may wait for its turn. If the turn is later, it gets a ticket at once. */
  readonly maxWaitMs?: number | undefined
}

type Ticketed = Promised & { readonly kind: 'promised'; readonly ticket: string }
export type Admission =
  | (Allowed & { readonly waitedMs: number })
  | Denied
  | Ticketed
  | OverrideRefused

/** A sleep may end early; so many in a row do not. */
const SLEEPS_MAX = 20

/** Decides, and makes the call wait for its turn if that comes soon enough. */
export async function admit(
  limiter: Limiter,
  key: string,
  request: AdmitRequest = {},
): Promise<Admission> {
  const { maxWaitMs = WAIT_MS_DEFAULT } = request
  checkInteger('maxWaitMs', maxWaitMs, 0, WAIT_MS_MAX)
  const decision = await decideRate(limiter, key, request)
  if (decision.kind === 'allowed') return { ...decision, waitedMs: 0 }
  if (decision.kind !== 'promised') return decision
  const { turn, waitMs } = decision
  if (waitMs > maxWaitMs) return ticketed(limiter, decision)
  const startedMs = nowMs(limiter)
  for (let sleep = 1; sleep <= SLEEPS_MAX; sleep += 1) {
    const leftMs = turn.notBeforeMs - nowMs(limiter)
    // If somebody sets the clock back meanwhile, the call must not wait longer than its caller said.
    if (leftMs > maxWaitMs) return ticketed(limiter, decision)
    if (leftMs <= 0) break
    await limiter.clock.sleep(leftMs)
  }
  const { limit, windowMillis, algorithm, remaining } = decision
  const window = { startMs: turn.notBeforeMs, endMs: turn.notBeforeMs + windowMillis }
  const waitedMs = Math.max(0, nowMs(limiter) - startedMs)
  return { kind: 'allowed', limit, windowMillis, algorithm, remaining, window, waitedMs }
}

async function ticketed(limiter: Limiter, decision: Promised): Promise<Ticketed> {
  const [secret] = await limiter.secrets.get()
  return { ...decision, ticket: ticketOf(decision.turn, secret) }
}
