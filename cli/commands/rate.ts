// `rate` and `rate-ticket`: a caller's side of a rate limit. The exit code says whether to go, to wait or to give up.

import type { GiveUpTicketAnswer, VerifyTicketAnswer } from '../../client/api-types.ts'
import {
  CALLER_CHARACTERS_MAX,
  MAX_REQUESTS_MAX,
  WAIT_MS_DEFAULT,
  WAIT_MS_MAX,
} from '../../rate/core/bounds.ts'
import { command, flag, integer, keyWord, text } from '../command.ts'
import { type ExitCode, exitCodes, wrongUsage } from '../failure.ts'
import { withRates } from '../target/open.ts'
import type { DecisionBody } from '../target/target.ts'
import { counted, grouped, isoTime, pause } from '../text.ts'
import { limitOptions, settingsIn } from './rate-config.ts'

export const rate = command({
  name: 'rate',
  summary: 'Asks a rate limit whether to go now, later or not at all',
  words: [keyWord],
  options: {
    wait: flag('take a place in line where the window is full'),
    'max-wait': integer(
      'MS',
      0,
      WAIT_MS_MAX,
      `with --wait: how long to wait for the turn; ${WAIT_MS_DEFAULT} is the default`,
    ),
    cost: integer('N', 1, MAX_REQUESTS_MAX, 'for how many requests it counts; 1 is the default'),
    caller: text('C', "the caller's name; keeps their requests in order if the key has shards"),
    ...limitOptions,
  },
  notes: [
    'Prints go (exit code 0), no (4), or wait until a time (6). If a turn comes soon enough,\n' +
      '--wait waits for it and then says go; a later one is a ticket, which pushpop rate-ticket\n' +
      'verifies. A limit that you name is for this request, if the key allows it.',
  ],
  examples: [
    'pushpop rate partner-api && curl https://partner.example/orders',
    'pushpop rate partner-api --wait --max-wait 20000',
    'pushpop rate user-17 --max-requests 5 --window 60000 --json',
  ],
  async run({ given, words, io, isJson, print, tell, paint, paintOut }): Promise<ExitCode> {
    const [key = ''] = words
    const { wait, caller } = given
    if (given['max-wait'] !== undefined && !wait) {
      throw wrongUsage('Cannot use rate because --max-wait goes with --wait')
    }
    if (caller !== undefined && caller.length > CALLER_CHARACTERS_MAX) {
      throw wrongUsage(
        `Cannot use rate because --caller has ${CALLER_CHARACTERS_MAX} characters at most`,
      )
    }
    return withRates({ given, io }, async (rates) => {
      const { body, text } = await rates.decide(key, {
        canWait: wait,
        maxWaitMs: given['max-wait'],
        cost: given.cost,
        caller,
        ...settingsIn(given),
      })
      if (isJson) {
        await print(text)
        return exitCodeFor(body)
      }
      if (body.allowed) {
        await print(paintOut('green', 'go'))
        const waited = body.waited_ms ? ` after ${pause(body.waited_ms)} in line` : ''
        const { remaining } = body
        const left = remaining === undefined ? '' : `; ${grouped(remaining)} left in this window`
        tell(`${key} goes${waited}${left}.`)
      } else if (body.ticket === undefined) {
        await print(paintOut('red', 'no'))
        const full = wait ? 'the line of those who wait is full' : 'this window is full'
        tell(`${key} must not go because ${full}; try again in ${pause(body.retry_after_ms)}.`)
      } else {
        await print(paintOut('yellow', `wait until ${isoTime(body.not_before)}`))
        const { position, ticket } = body
        const before = position > 1 ? `, behind ${counted(position - 1, 'other')}` : ''
        tell(`${key} has a place in line${before}. Its ticket says when it may go:`)
        tell(`  pushpop rate-ticket${rates.asTyped} ${key} ${paint('bold', ticket)}`)
      }
      return exitCodeFor(body)
    })
  },
})

function exitCodeFor(body: DecisionBody): ExitCode {
  if (body.allowed) return exitCodes.done
  return body.ticket === undefined ? exitCodes.refused : exitCodes.notYet
}

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
