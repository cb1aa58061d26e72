import { describe, expect, it } from 'vitest'
import { stateOfTurn, type Turn } from '../../../rate/core/epoch.ts'
import { readTicket, ticketOf } from '../../../rate/tickets.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const secret = bytes('sixteen bytes at least')
const turn: Turn = {
  key: 'user-123',
  shard: 3,
  epoch: 'w100/1000~0@0+0',
  position: 189_345_600_100,
  cost: 2,
  giveUps: 1,
  notBeforeMs: 1_893_456_001_000,
  goodUntilMs: 1_893_456_011_000,
}
const ticket = ticketOf(turn, secret)

describe('A ticket', () => {
  it('is read by a process that has the secret, or the one before it.', () => {
    expect(readTicket(ticket, [secret])).toEqual(turn)
    expect(readTicket(ticket, [bytes('the new secret, as long'), secret])).toEqual(turn)
  })

  it('is nothing under another secret.', () => {
    expect(readTicket(ticket, [bytes('some other secret bytes')])).toBeUndefined()
  })

  it('is nothing once any of its characters is another.', () => {
    for (let at = 0; at < ticket.length; at += 1) {
      const other = ticket[at] === 'A' ? 'B' : 'A'
      const forged = ticket.slice(0, at) + other + ticket.slice(at + 1)
      expect(readTicket(forged, [secret])).toBeUndefined()
    }
  })

  it.each(['', '.', 'a.b', `${ticket}.`, `${ticket}=`, `${ticket} `, ticket.repeat(20)])(
    'is not "%s".',
    (text) => {
      expect(readTicket(text, [secret])).toBeUndefined()
    },
  )
})

it.each([
  [-1, 'waiting'],
  [0, 'ready'],
  [9_999, 'ready'],
  [10_000, 'over'],
])('%i ms from its time a turn is %s.', (ms, state) => {
  expect(stateOfTurn(turn, turn.notBeforeMs + ms)).toBe(state)
})
