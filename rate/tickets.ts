// Tickets: a call is admitted, or gets its turn as a ticket, a text that nobody else can forge. What a ticket is good
// for follows from it and the clock alone. Only the last turn can be given back: the write's conditions say that
// nothing was issued after it, so a turn that others stand behind stays empty.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { Expression } from '../aws/table.ts'
import { WAIT_MS_DEFAULT, WAIT_MS_MAX } from './core/bounds.ts'
import { parseEpoch, stateOfTurn, type Turn, widthOf } from './core/epoch.ts'
import { checkRateKey, rowKey } from './core/row.ts'
import { checkInteger } from './core/settings.ts'
import {
  type Allowed,
  type Denied,
  decideRate,
  type OverrideRefused,
  type Promised,
  type RateRequest,
} from './decide.ts'
import { checkClock, type Limiter, nowMs, seenRow } from './limiter.ts'
import { outOfReach } from './take-slots.ts'

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

export type TicketState =
  | { readonly kind: 'waiting'; readonly turn: Turn; readonly retryAfterMs: number }
  | { readonly kind: 'ready'; readonly turn: Turn; readonly goodForMs: number }
  /** Its time is over: a caller that did not go must ask again. */
  | { readonly kind: 'over'; readonly turn: Turn }
  /** We did not sign it, or it belongs to another key. */
  | { readonly kind: 'invalid' }

/** When the gateway received the call, if known: we refuse a clock that is far from this. */
export type TicketRequest = Pick<RateRequest, 'receivedMs'>

export type GivenUp =
  /** Another request may have the place now. */
  | { readonly kind: 'given-up' }
  /** Others have been promised places behind it, which do not move, so the place stays empty. */
  | { readonly kind: 'kept' }
  /** The turn has come: its holder may have gone already. */
  | { readonly kind: 'too-late' }
  | { readonly kind: 'invalid' }

export const ticketVerbs = (limiter: Limiter) => ({
  admit: (key: string, request?: AdmitRequest) => admit(limiter, key, request),
  verify: (key: string, ticket: string, request?: TicketRequest) =>
    verifyTicket(limiter, key, ticket, request),
  giveUp: (key: string, ticket: string, request?: TicketRequest) =>
    giveUp(limiter, key, ticket, request),
})

/** A sleep may end early; so many in a row do not. */
const SLEEPS_MAX = 20

/** Decides, and makes the call wait for its turn if that comes soon enough. */
async function admit(
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

/** Decided from the ticket and the clock alone. */
async function verifyTicket(
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

/** Gives the place back if it is the last one. Do not use the ticket after this, even if it was kept. */
async function giveUp(
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

/**
 * Gives the last turn back. This is exact, because its conditions say that nothing was issued after it: the cursor is
 * right behind it, and has never gone back since. For the same reason, a second copy of this write, however late,
 * finds another count and changes nothing.
 */
function giveUpUpdate(turn: Turn, width: number): ReturnType<Expression['build']> {
  const { epoch, position, giveUps } = turn
  const update = new Expression()
  update.set('c', position)
  update.set('x', giveUps + 1)
  update.condition(`e=${update.value(epoch)}`)
  update.condition(`c=${update.value(position + width)}`)
  update.condition(giveUps === 0 ? 'attribute_not_exists(x)' : `x=${update.value(giveUps)}`)
  return update.build()
}

/** The signed text begins with its purpose, so that the same secret can sign other things. */
const PURPOSE = 'pushpop rate ticket 1'

/** Its contents in the clear, and an HMAC-SHA256 of them. */
export function ticketOf(turn: Turn, secret: Uint8Array): string {
  const { key, shard, epoch, position, cost, giveUps, notBeforeMs, goodUntilMs } = turn
  const fields = [key, shard, epoch, position, cost, giveUps, notBeforeMs, goodUntilMs]
  const text = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${text}.${signature(text, secret).toString('base64url')}`
}

/** Five times the length of a ticket for the longest key. */
const TICKET_CHARACTERS_MAX = 2_048

/** The turn, if one of the secrets made the ticket: the present one first, then former ones. */
export function readTicket(ticket: string, secrets: readonly Uint8Array[]): Turn | undefined {
  if (ticket.length > TICKET_CHARACTERS_MAX) return undefined
  const [text = '', mac = '', ...more] = ticket.split('.')
  if (more.length > 0) return undefined
  const given = Buffer.from(mac, 'base64url')
  // One ticket has one spelling.
  if (given.toString('base64url') !== mac) return undefined
  if (!secrets.some((secret) => isSigned(text, given, secret))) return undefined
  const fields = JSON.parse(Buffer.from(text, 'base64url').toString()) as TicketFields
  const [key, shard, epoch, position, cost, giveUps, notBeforeMs, goodUntilMs] = fields
  return { key, shard, epoch, position, cost, giveUps, notBeforeMs, goodUntilMs }
}

type TicketFields = readonly [string, number, string, number, number, number, number, number]

const signature = (text: string, secret: Uint8Array): Buffer =>
  createHmac('sha256', secret).update(`${PURPOSE}\n${text}`).digest()

function isSigned(text: string, given: Buffer, secret: Uint8Array): boolean {
  const expected = signature(text, secret)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
