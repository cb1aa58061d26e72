import { checkOptions, type Names } from '../foundation/shared/known-options.ts'
import { type Requests, refusingUnknown } from '../foundation/shared/refusing-unknown.ts'
import type { Overrides } from './core/settings.ts'
import type { ConfigureRequest } from './operations/configure.ts'
import type { TicketRequest } from './operations/tickets.ts'
import {
  type AdmitRequest,
  createRateLimits as createTrustingRateLimits,
  type RateLimits,
  type RateLimitsOptions,
  type RateRequest,
} from './rate-limits.ts'

/** The limiter for callers whom no compiler may have checked: it refuses an option that it does not know. */
export function createRateLimits(options: RateLimitsOptions): RateLimits {
  checkOptions(options, optionNames)
  return refusingUnknown(createTrustingRateLimits(options), requestNames)
}

const optionNames: Names<RateLimitsOptions> = {
  tableName: 0,
  dynamodb: 0,
  secret: 0,
  formerSecrets: 0,
  clock: 0,
  random: 0,
}
const decide: Names<RateRequest> = { cost: 0, canWait: 0, overrides: 0, caller: 0, receivedMs: 0 }
const admit: Names<AdmitRequest> = { ...decide, maxWaitMs: 0 }
const overrides: Names<Overrides> = { maxRequests: 0, maxRequestsInQueue: 0, windowMillis: 0 }
const configure: Names<ConfigureRequest> = { ifMatch: 0, receivedMs: 0 }
const ticket: Names<TicketRequest> = { receivedMs: 0 }

const inOverrides = { at: 1, field: 'overrides', names: overrides }
const requestNames: Requests<RateLimits> = {
  decide: [{ at: 1, names: decide }, inOverrides],
  admit: [{ at: 1, names: admit }, inOverrides],
  configure: [{ at: 2, names: configure }],
  unconfigure: [{ at: 1, names: configure }],
  configurePatterns: [{ at: 1, names: configure }],
  verify: [{ at: 2, names: ticket }],
  giveUp: [{ at: 2, names: ticket }],
}
