import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Turn } from './turn.ts'

/** A turn as text that nobody else can forge: its contents in the clear, and an HMAC-SHA256 of them. */

/** The signed text begins with its purpose, so that the same secret can sign other things. */
const PURPOSE = 'pushpop rate ticket 1'

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
