// The part of `operations.ts` about the rate limiter.

import {
  configureRateCall,
  configureRatePatternsCall,
  decideRateCall,
  rateConfigurationCall,
  rateStateCall,
  ticketCall,
  unconfigureRateCall,
} from '../../lambdas/http/rate.ts'
import * as answers from '../../lambdas/http/schemas/more-answers.ts'

/** Errors of every call that asks the table. */
export const store = ['STORE_UNAVAILABLE', 'FORMAT_UNKNOWN'] as const

export const rateOperations = {
  decideRate: {
    tag: 'Rate limits',
    summary: 'Ask for a turn',
    description:
      '200: go. 202: a turn is promised, with a ticket. 429: no. With `canWait` a place in a coming ' +
      'window, in order of arrival: the call is held until its turn if that comes within ' +
      '`maxWaitMs` and within the time for which the service holds calls (by default 2 s), and ' +
      'answered 202 at once if it does not. `RateLimit` and `RateLimit-Policy` are ' +
      'those of draft-ietf-httpapi-ratelimit-headers-10.',
    call: decideRateCall,
    answer: answers.rateAllowed,
    accepted: {
      says: 'A turn is promised',
      answer: answers.rateTicketed,
      header: 'Retry-After',
    },
    hasRateLimit: true,
    errors: [...store, 'BUSY', 'OVERRIDE_REFUSED'],
  },
  rateState: {
    tag: 'Rate limits',
    summary: 'The state of a rate limit',
    description:
      'The limit, where it comes from, how much of it is left, and who waits. Changes nothing.',
    call: rateStateCall,
    answer: answers.rateState,
    errors: store,
  },
  verifyTicket: {
    tag: 'Rate limits',
    summary: 'The state of a ticket',
    description: 'Decided by the ticket and the clock; asking does not use it up.',
    call: ticketCall,
    answer: answers.ticketState,
    errors: [...store, 'TICKET_NOT_FOUND'],
  },
  giveUpTicket: {
    tag: 'Rate limits',
    summary: 'Give a promised turn up',
    description: 'Another caller gets it only if nobody waits behind it: no promised turn moves.',
    call: ticketCall,
    answer: answers.ticketGivenUp,
    errors: [...store, 'TICKET_NOT_FOUND'],
  },
  rateConfiguration: {
    tag: 'Rate limits',
    summary: 'The configuration that applies to a rate limit',
    description:
      'Its own, or that of the longest prefix, or the default. The `ETag` is the revision of its ' +
      'own; `"0"` where it has none.',
    call: rateConfigurationCall,
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: store,
  },
  configureRate: {
    tag: 'Rate limits',
    summary: 'Give a rate limit its own configuration',
    description:
      'A setting that you leave out has its default. Turns that were promised stay as they are.',
    call: configureRateCall,
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: [...store, 'BUSY', 'VERSION_MISMATCH'],
  },
  unconfigureRate: {
    tag: 'Rate limits',
    summary: 'Remove a rate limit’s own configuration',
    description: 'That of its prefix, or the default, applies again; the answer shows it.',
    call: unconfigureRateCall,
    answer: answers.rateConfiguration,
    hasEtag: true,
    errors: [...store, 'BUSY', 'VERSION_MISMATCH'],
  },
  ratePatterns: {
    tag: 'Rate limits',
    summary: 'The configurations of prefixes',
    description:
      'In the order in which they apply: the longest prefix first. The `ETag` is the revision of all of them.',
    call: rateConfigurationCall,
    answer: answers.ratePatterns,
    hasEtag: true,
    errors: store,
  },
  configureRatePatterns: {
    tag: 'Rate limits',
    summary: 'Replace the configurations of prefixes',
    description: 'All at once. They take effect within half a minute.',
    call: configureRatePatternsCall,
    answer: answers.ratePatterns,
    hasEtag: true,
    errors: [...store, 'BUSY', 'VERSION_MISMATCH'],
  },
} as const
