import type { Names } from '../../lambdas/foundation/shared/known-options.ts'
import type { Requests } from '../../lambdas/foundation/shared/refusing-unknown.ts'
import { call, configure, match, optional, patterns } from '../option-names.ts'
import type { DecideOptions, RateLimit, RatePatternVerbs } from './limit.ts'
import type { WaitOptions } from './wait.ts'

const wait: Names<WaitOptions> = {
  maxWaitMs: 0,
  cost: 0,
  caller: 0,
  maxRequests: 0,
  maxRequestsInQueue: 0,
  windowMillis: 0,
  repeatLost: 0,
  ...call,
}
const decide: Names<DecideOptions> = { canWait: 0, ...wait }

export const rateRules: Requests<RateLimit> = {
  decide: optional(0, decide),
  wait: optional(0, wait),
  verify: optional(1, call),
  giveUp: optional(1, call),
  state: optional(0, call),
  configuration: optional(0, call),
  configure,
  unconfigure: optional(0, match),
}
export const ratePatternRules: Requests<RatePatternVerbs> = {
  ratePatterns: optional(0, call),
  configureRatePatterns: patterns,
}
