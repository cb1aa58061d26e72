import { checkClock } from '../core/clocks.ts'
import { parseEpoch } from '../core/epoch.ts'
import { checkRateKey, rowKey } from '../core/keys.ts'
import { widthOf } from '../core/ruler.ts'
import { readTicket } from '../core/ticket.ts'
import { stateOfTurn, type Turn } from '../core/turn.ts'
import { giveUpUpdate } from '../store/give-up-update.ts'
import type { RateRequest } from './decide.ts'
import { type Limiter, nowMs, seenRow } from './limiter.ts'
import { outOfReach } from './take.ts'

export type TicketState =
  | { readonly kind: 'waiting'; readonly turn: Turn; readonly retryAfterMs: number }
  | { readonly kind: 'ready'; readonly turn: Turn; readonly goodForMs: number }
  /** Its time is over: a caller that did not go must ask again. */
  | { readonly kind: 'over'; readonly turn: Turn }
  /** We did not sign it, or it belongs to another key. */
  | { readonly kind: 'invalid' }

/** When the gateway received the call, if known: we refuse a clock that is far from this. */
export type TicketRequest = Pick<RateRequest, 'receivedMs'>

/** Decided from the ticket and the clock alone. */
export async function verifyTicket(
  limiter: Limiter,
  key: string,
  ticket: string,
  { receivedMs }: TicketRequest = {},
): Promise<TicketState> {
  checkRateKey(key)
  checkClock(nowMs(limiter), receivedMs)
  const turn = readTicket(ticket, await limiter.secrets.get())
  if (turn === undefined || turn.key !== key) return { kind: 'invalid' }
  const clockMs = nowMs(limiter)
  const kind = stateOfTurn(turn, clockMs)
  switch (kind) {
    case 'waiting':
      return { kind, turn, retryAfterMs: turn.notBeforeMs - clockMs }
    case 'ready':
      return { kind, turn, goodForMs: turn.goodUntilMs - clockMs }
    case 'over':
      return { kind, turn }
    default:
      return kind satisfies never
  }
}

export type GivenUp =
  /** Another request may have the place now. */
  | { readonly kind: 'given-up' }
  /** Others have been promised places behind it, which do not move, so the place stays empty. */
  | { readonly kind: 'kept' }
  /** The turn has come: its holder may have gone already. */
  | { readonly kind: 'too-late' }
  | { readonly kind: 'invalid' }

/** Gives the place back if it is the last one. Do not use the ticket after this, even if it was kept. */
export async function giveUp(
  limiter: Limiter,
  key: string,
  ticket: string,
  request: TicketRequest = {},
): Promise<GivenUp> {
  const state = await verifyTicket(limiter, key, ticket, request)
  if (state.kind === 'invalid') return state
  if (state.kind !== 'waiting') return { kind: 'too-late' }
  const { turn } = state
  const width = widthOf(parseEpoch(turn.epoch), turn.cost)
  const written = await limiter.dynamo.update(rowKey(key, turn.shard), giveUpUpdate(turn, width))
  // The request whose answer was lost may have done it; a second one would change nothing, and could not tell.
  if (written.kind === 'unknown') throw outOfReach(key, written.cause)
  seenRow(limiter, turn, written.row)
  return { kind: written.kind === 'done' ? 'given-up' : 'kept' }
}
