import type { GiveUpTicketAnswer, VerifyTicketAnswer } from '../../client/api-types.ts'
import { flag } from '../arguments/option-table.ts'
import { keyWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { wrongUsage } from '../failure.ts'
import { isoTime } from '../rates/times.ts'
import { withRates } from '../target/open-rates.ts'

/** What is signed, and its signature. */
const ticketForm = /^[\w-]+\.[\w-]+$/

export const rateTicket = command({
  name: 'rate-ticket',
  summary: "Verifies a ticket of a rate limit's line, or gives its place up",
  words: [keyWord, { name: 'TICKET', kind: 'text' }],
  options: {
    'give-up': flag('leave the line; the ticket must not be used then'),
  },
  notes: [
    'Prints ready (exit code 0: go), waiting until a time (6), or over (4: ask again). A ticket\n' +
      'that is not of this key and place is refused (4). --give-up frees the place for another caller\n' +
      'if nobody waits behind it, and says so if that is no longer possible (4).',
  ],
  examples: [
    'pushpop rate-ticket partner-api WyJwYXJ0bmVyLWFwaSJd.c2lnbmVk',
    'pushpop rate-ticket partner-api WyJwYXJ0bmVyLWFwaSJd.c2lnbmVk --give-up',
  ],
  async run({ given, words, io, isJson, print, tell, paintOut }): Promise<ExitCode> {
    const [key = '', ticket = ''] = words
    if (!ticketForm.test(ticket)) {
      throw wrongUsage(
        `Cannot verify the ticket because ${JSON.stringify(ticket)} is not a ticket: ` +
          'that is what pushpop rate --wait gives',
      )
    }
    return withRates({ given, io }, async (rates) => {
      if (given['give-up']) {
        const { body, text } = await rates.giveUp(key, ticket)
        if (isJson) await print(text)
        else tell(givenUpSentence(body))
        return body.given_up ? exitCodes.done : exitCodes.refused
      }
      const { body, text } = await rates.verify(key, ticket)
      if (isJson) await print(text)
      else {
        const { colour, says } = shown[body.state]
        await print(paintOut(colour, says(body)))
      }
      return shown[body.state].exitCode
    })
  },
})

const shown = {
  waiting: {
    colour: 'yellow',
    says: (body: VerifyTicketAnswer) => `waiting until ${isoTime(body.not_before)}`,
    exitCode: exitCodes.notYet,
  },
  ready: {
    colour: 'green',
    says: (body: VerifyTicketAnswer) => `ready until ${isoTime(body.good_until)}`,
    exitCode: exitCodes.done,
  },
  over: {
    colour: 'red',
    says: (body: VerifyTicketAnswer) => `over since ${isoTime(body.good_until)}`,
    exitCode: exitCodes.refused,
  },
} as const

function givenUpSentence(body: GiveUpTicketAnswer): string {
  if (body.given_up) return 'Gave the place up; it is free for another.'
  switch (body.reason) {
    case 'others_wait_behind':
      return 'The place stays empty because others wait behind it, and their turns do not move.'
    case 'too_late':
      return 'Cannot give the place up because its turn has come.'
    default:
      return body.reason satisfies never
  }
}
